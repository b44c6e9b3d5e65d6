require "json"
# Stops `pod install` with the command that is missing, if the native libraries are not installed.
require File.join(__dir__, "etfetch-guard")

package = JSON.parse(File.read(File.join(__dir__, "package.json")))
flags = JSON.parse(File.read(File.join(__dir__, "rne-build-config.json")))

Pod::Spec.new do |s|
  s.name      = package["name"]
  s.version   = package["version"]
  s.summary   = "A React Native library whose native code etfetch installs"
  s.homepage  = "https://example.com"
  s.license   = package["license"]
  s.author    = "the etfetch authors"
  s.source    = { :path => "." }
  s.platforms = { :ios => "17.0" }

  s.ios.vendored_frameworks = "third-party/ios/ExecutorchLib.xcframework"
  s.dependency "opencv-rne", "~> 4.11.0" if flags["enableOpencv"]
end
