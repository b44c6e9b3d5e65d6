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
    'macosx' => {
      'force_load' => [
        'executorch/apple/executorch.xcframework/macos-arm64/libexecutorch_macos.a',
        'executorch/apple/backend_coreml.xcframework/macos-arm64/libbackend_coreml_macos.a',
        'executorch/apple/backend_mps.xcframework/macos-arm64/libbackend_mps_macos.a',
        'executorch/apple/backend_xnnpack.xcframework/macos-arm64/libbackend_xnnpack_macos.a',
        'executorch/apple/kernels_llm.xcframework/macos-arm64/libkernels_llm_macos.a',
        'executorch/apple/kernels_optimized.xcframework/macos-arm64/libkernels_optimized_macos.a',
        'executorch/apple/kernels_quantized.xcframework/macos-arm64/libkernels_quantized_macos.a',
        'executorch/apple/kernels_torchao.xcframework/macos-arm64/libkernels_torchao_macos.a',
      ],
      'plain' => [
        'executorch/apple/threadpool.xcframework/macos-arm64/libthreadpool_macos.a',
        'executorch/apple/executorch_llm.xcframework/macos-arm64/libexecutorch_llm_macos.a',
      ],
      'frameworks' => [
        'Accelerate',
        'CoreML',
        'Metal',
        'MetalPerformanceShaders',
        'MetalPerformanceShadersGraph',
      ],
      'libraries' => [
        'c++',
        'sqlite3',
      ],
      'headers' => [
        'executorch/apple/executorch.xcframework/macos-arm64/Headers',
      ],
      'standard' => 'c++17',
    },
    'iphoneos' => {
      'force_load' => [
        'executorch/apple/executorch.xcframework/ios-arm64/libexecutorch_ios.a',
        'executorch/apple/backend_coreml.xcframework/ios-arm64/libbackend_coreml_ios.a',
        'executorch/apple/backend_mps.xcframework/ios-arm64/libbackend_mps_ios.a',
        'executorch/apple/backend_xnnpack.xcframework/ios-arm64/libbackend_xnnpack_ios.a',
        'executorch/apple/kernels_llm.xcframework/ios-arm64/libkernels_llm_ios.a',
        'executorch/apple/kernels_optimized.xcframework/ios-arm64/libkernels_optimized_ios.a',
        'executorch/apple/kernels_quantized.xcframework/ios-arm64/libkernels_quantized_ios.a',
        'executorch/apple/kernels_torchao.xcframework/ios-arm64/libkernels_torchao_ios.a',
      ],
      'plain' => [
        'executorch/apple/threadpool.xcframework/ios-arm64/libthreadpool_ios.a',
        'executorch/apple/executorch_llm.xcframework/ios-arm64/libexecutorch_llm_ios.a',
      ],
      'frameworks' => [
        'Accelerate',
        'CoreML',
        'Metal',
        'MetalPerformanceShaders',
        'MetalPerformanceShadersGraph',
      ],
      'libraries' => [
        'c++',
        'sqlite3',
      ],
      'headers' => [
        'executorch/apple/executorch.xcframework/ios-arm64/Headers',
      ],
      'standard' => 'c++17',
    },
    'iphonesimulator' => {
      'force_load' => [
        'executorch/apple/executorch.xcframework/ios-arm64-simulator/libexecutorch_simulator.a',
        'executorch/apple/backend_coreml.xcframework/ios-arm64-simulator/libbackend_coreml_simulator.a',
        'executorch/apple/backend_mps.xcframework/ios-arm64-simulator/libbackend_mps_simulator.a',
        'executorch/apple/backend_xnnpack.xcframework/ios-arm64-simulator/libbackend_xnnpack_simulator.a',
        'executorch/apple/kernels_llm.xcframework/ios-arm64-simulator/libkernels_llm_simulator.a',
        'executorch/apple/kernels_optimized.xcframework/ios-arm64-simulator/libkernels_optimized_simulator.a',
        'executorch/apple/kernels_quantized.xcframework/ios-arm64-simulator/libkernels_quantized_simulator.a',
        'executorch/apple/kernels_torchao.xcframework/ios-arm64-simulator/libkernels_torchao_simulator.a',
      ],
      'plain' => [
        'executorch/apple/threadpool.xcframework/ios-arm64-simulator/libthreadpool_simulator.a',
        'executorch/apple/executorch_llm.xcframework/ios-arm64-simulator/libexecutorch_llm_simulator.a',
      ],
      'frameworks' => [
        'Accelerate',
        'CoreML',
        'Metal',
        'MetalPerformanceShaders',
        'MetalPerformanceShadersGraph',
      ],
      'libraries' => [
        'c++',
        'sqlite3',
      ],
      'headers' => [
        'executorch/apple/executorch.xcframework/ios-arm64-simulator/Headers',
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
