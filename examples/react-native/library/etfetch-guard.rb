# Written by `etfetch generate podspec-guard`. Publish it with the package; do not edit it.
#
# In the podspec:  require File.join(__dir__, "etfetch-guard")

require "digest"
require "json"

lambda do |root, name, destination|
  next unless [nil, "", "0", "false", "no"].include?(ENV["ETFETCH_SKIP_DOWNLOAD"])

  record = File.join(root, destination, ".etfetch", "installed.json")
  problem = lambda do
    return "they were never installed: #{record} is missing" unless File.file?(record)
    return "an install was interrupted" if File.exist?(File.join(File.dirname(record), "journal.json"))

    begin
      installed = JSON.parse(File.read(record, encoding: "UTF-8"))
    rescue JSON::ParserError
      return "#{record} is damaged"
    end
    return "not everything was downloaded" if installed["lock"].empty?

    if installed["watch"]
      lock = File.expand_path(installed["watch"]["lock"], File.realpath(root))
      # pnpm keeps what a postinstall step made, and gives it to other apps.
      return "they were installed for another app: #{lock} is missing" unless File.file?(lock)

      digest = Digest::SHA256.hexdigest(File.binread(lock).gsub("\r\n".b, "\n".b))
      return "#{lock} has changed since they were installed" if digest != installed["lock"]
    end
    gone = installed["files"].find do |file|
      path = File.join(root, destination, file["path"])
      !File.exist?(path) && !File.symlink?(path)
    end
    return "#{File.join(root, destination, gone["path"])} is missing" if gone

    platforms = installed["parts"].flat_map { |part| part["platforms"] }
    return "nothing is installed for iOS" unless platforms.any? { |platform| platform.start_with?("ios") }

    nil
  end.call
  next if problem.nil?

  real = File.realpath(root)
  folder = real
  script = nil
  loop do
    script = File.join(folder, "node_modules", "etfetch", "bin", "etfetch.js")
    break if File.file?(script)

    script = nil
    break if File.dirname(folder) == folder

    folder = File.dirname(folder)
  end
  command = script ? "node \"#{script}\"" : "etfetch"
  # CocoaPods shows an Informative without a backtrace.
  raise (defined?(Pod::Informative) ? Pod::Informative : StandardError), <<~MESSAGE
    #{name}: its native libraries are not ready:

      #{problem}

    The package manager may have skipped the postinstall step (newer pnpm and yarn, --ignore-scripts).
    Run this in the app's folder, and `pod install` again:

      #{command} install --project "#{real}"

  MESSAGE
end.call(__dir__, 'react-native-executorch', 'third-party')
