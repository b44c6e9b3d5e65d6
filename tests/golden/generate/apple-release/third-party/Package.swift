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
        .library(name: "backend_coreml", targets: ["backend_coreml_with_dependencies"]),
        .library(name: "backend_mps", targets: ["backend_mps_with_dependencies"]),
        .library(name: "backend_xnnpack", targets: ["backend_xnnpack_with_dependencies"]),
        .library(name: "executorch", targets: ["executorch_with_dependencies"]),
        .library(name: "executorch_llm", targets: ["executorch_llm_with_dependencies"]),
        .library(name: "kernels_llm", targets: ["kernels_llm_with_dependencies"]),
        .library(name: "kernels_optimized", targets: ["kernels_optimized_with_dependencies"]),
        .library(name: "kernels_quantized", targets: ["kernels_quantized_with_dependencies"]),
        .library(name: "kernels_torchao", targets: ["kernels_torchao_with_dependencies"]),
        .library(name: "threadpool", targets: ["threadpool_with_dependencies"]),
    ],
    targets: [
        .binaryTarget(name: "backend_coreml", path: "executorch/apple/backend_coreml.xcframework"),
        .target(
            name: "backend_coreml_with_dependencies",
            dependencies: ["backend_coreml", "executorch_with_dependencies"],
            path: "swiftpm/backend_coreml",
            linkerSettings: [.linkedFramework("Accelerate"), .linkedFramework("CoreML"), .linkedLibrary("c++"), .linkedLibrary("sqlite3")]
        ),
        .binaryTarget(name: "backend_mps", path: "executorch/apple/backend_mps.xcframework"),
        .target(
            name: "backend_mps_with_dependencies",
            dependencies: ["backend_mps", "executorch_with_dependencies"],
            path: "swiftpm/backend_mps",
            linkerSettings: [.linkedFramework("Metal"), .linkedFramework("MetalPerformanceShaders"), .linkedFramework("MetalPerformanceShadersGraph"), .linkedLibrary("c++")]
        ),
        .binaryTarget(name: "backend_xnnpack", path: "executorch/apple/backend_xnnpack.xcframework"),
        .target(
            name: "backend_xnnpack_with_dependencies",
            dependencies: ["backend_xnnpack", "executorch_with_dependencies", "threadpool_with_dependencies"],
            path: "swiftpm/backend_xnnpack",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "executorch", path: "executorch/apple/executorch.xcframework"),
        .target(
            name: "executorch_with_dependencies",
            dependencies: ["executorch"],
            path: "swiftpm/executorch",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "executorch_llm", path: "executorch/apple/executorch_llm.xcframework"),
        .target(
            name: "executorch_llm_with_dependencies",
            dependencies: ["executorch_llm", "executorch_with_dependencies"],
            path: "swiftpm/executorch_llm",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_llm", path: "executorch/apple/kernels_llm.xcframework"),
        .target(
            name: "kernels_llm_with_dependencies",
            dependencies: ["kernels_llm", "executorch_with_dependencies"],
            path: "swiftpm/kernels_llm",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_optimized", path: "executorch/apple/kernels_optimized.xcframework"),
        .target(
            name: "kernels_optimized_with_dependencies",
            dependencies: ["kernels_optimized", "executorch_with_dependencies", "threadpool_with_dependencies"],
            path: "swiftpm/kernels_optimized",
            linkerSettings: [.linkedFramework("Accelerate"), .linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_quantized", path: "executorch/apple/kernels_quantized.xcframework"),
        .target(
            name: "kernels_quantized_with_dependencies",
            dependencies: ["kernels_quantized", "executorch_with_dependencies"],
            path: "swiftpm/kernels_quantized",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_torchao", path: "executorch/apple/kernels_torchao.xcframework"),
        .target(
            name: "kernels_torchao_with_dependencies",
            dependencies: ["kernels_torchao", "executorch_with_dependencies", "threadpool_with_dependencies"],
            path: "swiftpm/kernels_torchao",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "threadpool", path: "executorch/apple/threadpool.xcframework"),
        .target(
            name: "threadpool_with_dependencies",
            dependencies: ["threadpool", "executorch_with_dependencies"],
            path: "swiftpm/threadpool",
            linkerSettings: [.linkedLibrary("c++")]
        ),
    ]
)
