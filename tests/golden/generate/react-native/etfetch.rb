# Written by etfetch from etfetch.lock. Do not edit: `etfetch install` and `etfetch generate` write it again.
#
# In the podspec, `load` and not `require`: several pods may have a helper of this name.
#
#   load File.join(__dir__, "etfetch.rb")
#   Pod::Spec.new do |s|
#     ...
#     etfetch_pod(s)
#   end

def etfetch_pod(spec)
  root = File.join(__dir__, 'third-party')
  libraries = {
    'iphoneos' => {
      'vendored' => [
        'ios/ExecutorchLib.xcframework',
      ],
      'force_load' => [
        'ios/CoreMLBackend.xcframework/ios-arm64/libCoreMLBackend.a',
        'ios/MLXBackend.xcframework/ios-arm64/libMLXBackend.a',
        'ios/XnnpackBackend.xcframework/ios-arm64/libXnnpackBackend.a',
      ],
      'plain' => [
        'ios/libs/executorch/libthreadpool_ios.a',
      ],
      'frameworks' => [
        'Accelerate',
        'CoreML',
        'Metal',
        'MetalKit',
        'MetalPerformanceShaders',
      ],
      'libraries' => [
        'c++',
        'z',
        'sqlite3',
      ],
      'resources' => [
        'ios/libs/executorch/mlx.metallib',
      ],
      'headers' => [
        'include',
      ],
      'standard' => 'c++17',
    },
    'iphonesimulator' => {
      'vendored' => [
        'ios/ExecutorchLib.xcframework',
      ],
      'force_load' => [
        'ios/CoreMLBackend.xcframework/ios-arm64-simulator/libCoreMLBackend.a',
        'ios/XnnpackBackend.xcframework/ios-arm64-simulator/libXnnpackBackend.a',
      ],
      'plain' => [
        'ios/libs/executorch/libthreadpool_simulator.a',
      ],
      'frameworks' => [
        'Accelerate',
        'CoreML',
      ],
      'libraries' => [
        'c++',
        'z',
        'sqlite3',
      ],
      'headers' => [
        'include',
      ],
      'standard' => 'c++17',
    },
  }
  user = {}
  pod = {}
  libraries.each do |sdk, facts|
    force = facts.fetch("force_load", []).map { |file| "-force_load \"#{File.join(root, file)}\"" }
    plain = facts.fetch("plain", []).map { |file| "\"#{File.join(root, file)}\"" }
    flags = ["$(inherited)", *force, *plain]
    user["OTHER_LDFLAGS[sdk=#{sdk}*]"] = flags.join(" ")
    headers = facts.fetch("headers", []).map { |header| "\"#{File.join(root, header)}\"" }
    pod["HEADER_SEARCH_PATHS[sdk=#{sdk}*]"] = ["$(inherited)", *headers].join(" ")
    definitions = ["$(inherited)", *facts.fetch("definitions", [])]
    pod["GCC_PREPROCESSOR_DEFINITIONS[sdk=#{sdk}*]"] = definitions.join(" ")
    pod["CLANG_CXX_LANGUAGE_STANDARD"] = facts["standard"]
    # There are no libraries for the simulator on Intel's processors.
    next unless sdk == "iphonesimulator"

    [user, pod].each { |settings| settings["EXCLUDED_ARCHS[sdk=iphonesimulator*]"] = "x86_64" }
  end
  for_system = lambda do |sdks, name|
    libraries.values_at(*sdks).compact.flat_map { |facts| facts.fetch(name, []) }.uniq
  end
  { spec.ios => %w[iphoneos iphonesimulator], spec.osx => %w[macosx] }.each do |system, sdks|
    next if libraries.values_at(*sdks).compact.empty?

    here = ->(file) { File.join('third-party', file) }
    vendored = for_system.call(sdks, "vendored").map(&here)
    resources = for_system.call(sdks, "resources").map(&here)
    frameworks = for_system.call(sdks, "frameworks")
    system_libraries = for_system.call(sdks, "libraries")
    system.vendored_frameworks = vendored unless vendored.empty?
    system.resources = resources unless resources.empty?
    system.frameworks = frameworks unless frameworks.empty?
    system.libraries = system_libraries unless system_libraries.empty?
  end
  spec.user_target_xcconfig = user
  spec.pod_target_xcconfig = pod
  # A dynamic framework may not carry static libraries.
  spec.static_framework = true
end
