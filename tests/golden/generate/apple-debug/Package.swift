// swift-tools-version:5.9
// Written by etfetch from etfetch.lock. Do not edit: `etfetch generate` writes it again.
//
// Backends and kernels register themselves, and the linker drops what nobody refers to. Add to the app's
// OTHER_LDFLAGS, for the libraries it uses and the platform that it is built for (and not `-all_load`):
//
//   -force_load $(BUILT_PRODUCTS_DIR)/libbackend_coreml_ios.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libbackend_coreml_simulator.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libbackend_coreml_macos.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libbackend_mps_ios.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libbackend_mps_simulator.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libbackend_mps_macos.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libbackend_xnnpack_ios.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libbackend_xnnpack_simulator.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libbackend_xnnpack_macos.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libexecutorch_ios.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libexecutorch_simulator.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libexecutorch_macos.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_llm_ios.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_llm_simulator.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_llm_macos.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_optimized_ios.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_optimized_simulator.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_optimized_macos.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_quantized_ios.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_quantized_simulator.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_quantized_macos.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_torchao_ios.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_torchao_simulator.a
//   -force_load $(BUILT_PRODUCTS_DIR)/libkernels_torchao_macos.a
//

import PackageDescription

let package = Package(
    name: "executorch",
    platforms: [.macOS(.v12), .iOS(.v17)],
    products: [
        .library(name: "backend_coreml_debug", targets: ["backend_coreml_debug_with_dependencies"]),
        .library(name: "backend_mps_debug", targets: ["backend_mps_debug_with_dependencies"]),
        .library(name: "backend_xnnpack_debug", targets: ["backend_xnnpack_debug_with_dependencies"]),
        .library(name: "executorch_debug", targets: ["executorch_debug_with_dependencies"]),
        .library(name: "executorch_llm_debug", targets: ["executorch_llm_debug_with_dependencies"]),
        .library(name: "kernels_llm_debug", targets: ["kernels_llm_debug_with_dependencies"]),
        .library(name: "kernels_optimized_debug", targets: ["kernels_optimized_debug_with_dependencies"]),
        .library(name: "kernels_quantized_debug", targets: ["kernels_quantized_debug_with_dependencies"]),
        .library(name: "kernels_torchao_debug", targets: ["kernels_torchao_debug_with_dependencies"]),
        .library(name: "threadpool_debug", targets: ["threadpool_debug_with_dependencies"]),
    ],
    targets: [
        .binaryTarget(name: "backend_coreml_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/backend_coreml_debug-1.3.1.zip", checksum: "1be6168ec07a733d61ef06c1084036b4cfb4c81c244d77bf79fcf0dff3c49ff1"),
        .target(
            name: "backend_coreml_debug_with_dependencies",
            dependencies: ["backend_coreml_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/backend_coreml_debug",
            linkerSettings: [.linkedFramework("Accelerate"), .linkedFramework("CoreML"), .linkedLibrary("c++"), .linkedLibrary("sqlite3")]
        ),
        .binaryTarget(name: "backend_mps_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/backend_mps_debug-1.3.1.zip", checksum: "e018d8a3949fa00831d063039b3c00b65cd22338b88af7ae7caeb96d1fd441d1"),
        .target(
            name: "backend_mps_debug_with_dependencies",
            dependencies: ["backend_mps_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/backend_mps_debug",
            linkerSettings: [.linkedFramework("Metal"), .linkedFramework("MetalPerformanceShaders"), .linkedFramework("MetalPerformanceShadersGraph"), .linkedLibrary("c++")]
        ),
        .binaryTarget(name: "backend_xnnpack_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/backend_xnnpack_debug-1.3.1.zip", checksum: "a87444954a59d10dc9c0f2c9d5741ec9cd62f9357133cb9ba1ac98f83a701227"),
        .target(
            name: "backend_xnnpack_debug_with_dependencies",
            dependencies: ["backend_xnnpack_debug", "executorch_debug_with_dependencies", "threadpool_debug_with_dependencies"],
            path: "swiftpm/backend_xnnpack_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "executorch_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/executorch_debug-1.3.1.zip", checksum: "ab2e9a9204094226fbb7f21ce1da75e3da95a04e5ec3f8bb2040e7cd3649ad0c"),
        .target(
            name: "executorch_debug_with_dependencies",
            dependencies: ["executorch_debug"],
            path: "swiftpm/executorch_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "executorch_llm_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/executorch_llm_debug-1.3.1.zip", checksum: "8c586eefe7fe2bef3ea7b2112ce7b9d9577d7173c17d3bfebb46269356555f7c"),
        .target(
            name: "executorch_llm_debug_with_dependencies",
            dependencies: ["executorch_llm_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/executorch_llm_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_llm_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/kernels_llm_debug-1.3.1.zip", checksum: "0300cc85bd8cba3f1c53ab8a5e5ed2bc3f2319123b82978f2af4cd34b89a9f6d"),
        .target(
            name: "kernels_llm_debug_with_dependencies",
            dependencies: ["kernels_llm_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/kernels_llm_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_optimized_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/kernels_optimized_debug-1.3.1.zip", checksum: "01dea087f34fe0198acb9dbf71bd4b123877a1a65cb6d16473044be89d6d0cb0"),
        .target(
            name: "kernels_optimized_debug_with_dependencies",
            dependencies: ["kernels_optimized_debug", "executorch_debug_with_dependencies", "threadpool_debug_with_dependencies"],
            path: "swiftpm/kernels_optimized_debug",
            linkerSettings: [.linkedFramework("Accelerate"), .linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_quantized_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/kernels_quantized_debug-1.3.1.zip", checksum: "43faf5841f71d8fae0de1e2e3bda08974a5148054afcf19723dfd9687e4d15c3"),
        .target(
            name: "kernels_quantized_debug_with_dependencies",
            dependencies: ["kernels_quantized_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/kernels_quantized_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_torchao_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/kernels_torchao_debug-1.3.1.zip", checksum: "3fdffbe9954ebceef7344f8745de3672aa6b9f02eaacdd00dc1193a85aa18aaf"),
        .target(
            name: "kernels_torchao_debug_with_dependencies",
            dependencies: ["kernels_torchao_debug", "executorch_debug_with_dependencies", "threadpool_debug_with_dependencies"],
            path: "swiftpm/kernels_torchao_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "threadpool_debug", url: "https://ossci-ios.s3.amazonaws.com/executorch/threadpool_debug-1.3.1.zip", checksum: "02c45cbf32cae576fc8290d06bb27abb27ade4f4e1e03cef64ad6b00305a9e02"),
        .target(
            name: "threadpool_debug_with_dependencies",
            dependencies: ["threadpool_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/threadpool_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
    ]
)
