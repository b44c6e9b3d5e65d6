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
        .binaryTarget(name: "backend_coreml_debug", path: "executorch/apple/backend_coreml.xcframework"),
        .target(
            name: "backend_coreml_debug_with_dependencies",
            dependencies: ["backend_coreml_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/backend_coreml_debug",
            linkerSettings: [.linkedFramework("Accelerate"), .linkedFramework("CoreML"), .linkedLibrary("c++"), .linkedLibrary("sqlite3")]
        ),
        .binaryTarget(name: "backend_mps_debug", path: "executorch/apple/backend_mps.xcframework"),
        .target(
            name: "backend_mps_debug_with_dependencies",
            dependencies: ["backend_mps_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/backend_mps_debug",
            linkerSettings: [.linkedFramework("Metal"), .linkedFramework("MetalPerformanceShaders"), .linkedFramework("MetalPerformanceShadersGraph"), .linkedLibrary("c++")]
        ),
        .binaryTarget(name: "backend_xnnpack_debug", path: "executorch/apple/backend_xnnpack.xcframework"),
        .target(
            name: "backend_xnnpack_debug_with_dependencies",
            dependencies: ["backend_xnnpack_debug", "executorch_debug_with_dependencies", "threadpool_debug_with_dependencies"],
            path: "swiftpm/backend_xnnpack_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "executorch_debug", path: "executorch/apple/executorch.xcframework"),
        .target(
            name: "executorch_debug_with_dependencies",
            dependencies: ["executorch_debug"],
            path: "swiftpm/executorch_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "executorch_llm_debug", path: "executorch/apple/executorch_llm.xcframework"),
        .target(
            name: "executorch_llm_debug_with_dependencies",
            dependencies: ["executorch_llm_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/executorch_llm_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_llm_debug", path: "executorch/apple/kernels_llm.xcframework"),
        .target(
            name: "kernels_llm_debug_with_dependencies",
            dependencies: ["kernels_llm_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/kernels_llm_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_optimized_debug", path: "executorch/apple/kernels_optimized.xcframework"),
        .target(
            name: "kernels_optimized_debug_with_dependencies",
            dependencies: ["kernels_optimized_debug", "executorch_debug_with_dependencies", "threadpool_debug_with_dependencies"],
            path: "swiftpm/kernels_optimized_debug",
            linkerSettings: [.linkedFramework("Accelerate"), .linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_quantized_debug", path: "executorch/apple/kernels_quantized.xcframework"),
        .target(
            name: "kernels_quantized_debug_with_dependencies",
            dependencies: ["kernels_quantized_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/kernels_quantized_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_torchao_debug", path: "executorch/apple/kernels_torchao.xcframework"),
        .target(
            name: "kernels_torchao_debug_with_dependencies",
            dependencies: ["kernels_torchao_debug", "executorch_debug_with_dependencies", "threadpool_debug_with_dependencies"],
            path: "swiftpm/kernels_torchao_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "threadpool_debug", path: "executorch/apple/threadpool.xcframework"),
        .target(
            name: "threadpool_debug_with_dependencies",
            dependencies: ["threadpool_debug", "executorch_debug_with_dependencies"],
            path: "swiftpm/threadpool_debug",
            linkerSettings: [.linkedLibrary("c++")]
        ),
    ]
)
