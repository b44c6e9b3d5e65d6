"""Guards: build snippets that stop a build whose native libraries are not installed.

Package managers may skip a package's postinstall step (newer pnpm and yarn by default, `--ignore-scripts`).
The install looks well then, and the build fails much later for another reason. A guard reads etfetch's
record and says the one command that is missing.

A library publishes its guards, since they are needed exactly where etfetch has not run. They compare the
record with the lock it was made from, see an interrupted install and missing files, and want at least one
part for the platform that is being built.
"""

from __future__ import annotations

GRADLE = "etfetch-guard.gradle"
RUBY = "etfetch-guard.rb"


def gradle(name: str, destination: str) -> str:
    """The guard for Android builds; `name` is the library's, `destination` relative to its folder."""
    return _filled(_GRADLE, name, destination)


def ruby(name: str, destination: str) -> str:
    """The guard for CocoaPods; as `gradle`."""
    return _filled(_RUBY, name, destination)


def _filled(template: str, name: str, destination: str) -> str:
    return template.replace("@NAME@", quoted(name)).replace("@DESTINATION@", quoted(destination))


def quoted(text: str) -> str:
    """A string literal of Ruby and of Groovy: in single quotes neither puts values into it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_GRADLE = """\
// Written by `etfetch generate gradle-guard`. Publish it with the package; do not edit it.
//
// In android/build.gradle:      apply from: "../etfetch-guard.gradle"
// In android/build.gradle.kts:  apply(from = "../etfetch-guard.gradle")

import groovy.json.JsonSlurper
import java.security.MessageDigest

def guard = { File root, String name, String destination ->
    if (!(System.getenv("ETFETCH_SKIP_DOWNLOAD") in [null, "", "0", "false", "no"])) return

    File record = new File(root, destination + "/.etfetch/installed.json")
    def problem = { ->
        if (!record.isFile()) return "they were never installed: " + record + " is missing"
        if (new File(record.parentFile, "journal.json").exists()) return "an install was interrupted"
        def installed
        try {
            installed = new JsonSlurper().parse(record, "UTF-8")
        } catch (Exception ignored) {
            return record.toString() + " is damaged"
        }
        if (!installed.lock) return "not everything was downloaded"
        if (installed.watch) {
            File lock = root.canonicalFile.toPath().resolve(installed.watch.lock).normalize().toFile()
            // pnpm keeps what a postinstall step made, and gives it to other apps.
            if (!lock.isFile()) return "they were installed for another app: " + lock + " is missing"
            def text = lock.getText("UTF-8").replace("\\r\\n", "\\n").getBytes("UTF-8")
            def digest = MessageDigest.getInstance("SHA-256").digest(text).encodeHex().toString()
            if (digest != installed.lock) return lock.toString() + " has changed since they were installed"
        }
        def gone = installed.files.find { !new File(root, destination + "/" + it.path).exists() }
        if (gone) return new File(root, destination + "/" + gone.path).toString() + " is missing"
        if (!installed.parts.any { it.platforms.any { it.startsWith("android-") } }) {
            return "nothing is installed for Android"
        }
        return null
    }()
    if (!problem) return

    File folder = root.canonicalFile
    String command = "etfetch"
    while (folder != null) {
        File script = new File(folder, "node_modules/etfetch/bin/etfetch.js")
        if (script.isFile()) {
            command = "node \\"" + script + "\\""
            break
        }
        folder = folder.parentFile
    }
    throw new GradleException([
        name + ": its native libraries are not ready:",
        "",
        "  " + problem,
        "",
        "The package manager may have skipped the postinstall step (newer pnpm and yarn, --ignore-scripts).",
        "Run this in the app's folder, and build again:",
        "",
        "  " + command + " install --project \\"" + root.canonicalPath + "\\"",
        "",
    ].join("\\n"))
}
guard(buildscript.sourceFile.parentFile, @NAME@, @DESTINATION@)
"""

_RUBY = """\
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

      digest = Digest::SHA256.hexdigest(File.binread(lock).gsub("\\r\\n".b, "\\n".b))
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
  command = script ? "node \\"#{script}\\"" : "etfetch"
  # CocoaPods shows an Informative without a backtrace.
  raise (defined?(Pod::Informative) ? Pod::Informative : StandardError), <<~MESSAGE
    #{name}: its native libraries are not ready:

      #{problem}

    The package manager may have skipped the postinstall step (newer pnpm and yarn, --ignore-scripts).
    Run this in the app's folder, and `pod install` again:

      #{command} install --project "#{real}"

  MESSAGE
end.call(__dir__, @NAME@, @DESTINATION@)
"""
