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
        .binaryTarget(name: "backend_coreml", url: "https://ossci-ios.s3.amazonaws.com/executorch/backend_coreml-1.3.1.zip", checksum: "f92141884f1f9fb8036ceceedbc59fbe8259a5b41ce5767fff9fb17d07b88a1b"),
        .target(
            name: "backend_coreml_with_dependencies",
            dependencies: ["backend_coreml", "executorch_with_dependencies"],
            path: "swiftpm/backend_coreml",
            linkerSettings: [.linkedFramework("Accelerate"), .linkedFramework("CoreML"), .linkedLibrary("c++"), .linkedLibrary("sqlite3")]
        ),
        .binaryTarget(name: "backend_mps", url: "https://ossci-ios.s3.amazonaws.com/executorch/backend_mps-1.3.1.zip", checksum: "cdb431c85e342fc071f9d38aac1daaa5f94e6c0559a867c7a686b8f53f1f167d"),
        .target(
            name: "backend_mps_with_dependencies",
            dependencies: ["backend_mps", "executorch_with_dependencies"],
            path: "swiftpm/backend_mps",
            linkerSettings: [.linkedFramework("Metal"), .linkedFramework("MetalPerformanceShaders"), .linkedFramework("MetalPerformanceShadersGraph"), .linkedLibrary("c++")]
        ),
        .binaryTarget(name: "backend_xnnpack", url: "https://ossci-ios.s3.amazonaws.com/executorch/backend_xnnpack-1.3.1.zip", checksum: "268f64a3159867ae3be6017e993aad047a613489a5604e237d8e8dde71522805"),
        .target(
            name: "backend_xnnpack_with_dependencies",
            dependencies: ["backend_xnnpack", "executorch_with_dependencies", "threadpool_with_dependencies"],
            path: "swiftpm/backend_xnnpack",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "executorch", url: "https://ossci-ios.s3.amazonaws.com/executorch/executorch-1.3.1.zip", checksum: "ab38a5aecf1402a5963c9ef23b12fc7a08db32608a1dee4937c87222406a2ab4"),
        .target(
            name: "executorch_with_dependencies",
            dependencies: ["executorch"],
            path: "swiftpm/executorch",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "executorch_llm", url: "https://ossci-ios.s3.amazonaws.com/executorch/executorch_llm-1.3.1.zip", checksum: "0d6aa68058d90368bdab4836e3955383b8db5cff29f0c55901cc004a04a3fa4c"),
        .target(
            name: "executorch_llm_with_dependencies",
            dependencies: ["executorch_llm", "executorch_with_dependencies"],
            path: "swiftpm/executorch_llm",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_llm", url: "https://ossci-ios.s3.amazonaws.com/executorch/kernels_llm-1.3.1.zip", checksum: "5a4314f763a8f34c2a6c1e3befe77e78e20c37bf77744f7212abf3b2204058b7"),
        .target(
            name: "kernels_llm_with_dependencies",
            dependencies: ["kernels_llm", "executorch_with_dependencies"],
            path: "swiftpm/kernels_llm",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_optimized", url: "https://ossci-ios.s3.amazonaws.com/executorch/kernels_optimized-1.3.1.zip", checksum: "d2b03ddbb6dc767abd7f6baeff3da5435ad3e60bda67a546ff1891cdb624c878"),
        .target(
            name: "kernels_optimized_with_dependencies",
            dependencies: ["kernels_optimized", "executorch_with_dependencies", "threadpool_with_dependencies"],
            path: "swiftpm/kernels_optimized",
            linkerSettings: [.linkedFramework("Accelerate"), .linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_quantized", url: "https://ossci-ios.s3.amazonaws.com/executorch/kernels_quantized-1.3.1.zip", checksum: "a1084a8ec18f65b8127238d01033772e01744ac30fe7c01a76fc2b45dea3a6d9"),
        .target(
            name: "kernels_quantized_with_dependencies",
            dependencies: ["kernels_quantized", "executorch_with_dependencies"],
            path: "swiftpm/kernels_quantized",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "kernels_torchao", url: "https://ossci-ios.s3.amazonaws.com/executorch/kernels_torchao-1.3.1.zip", checksum: "978608f6c5a427cb3279a97b07a0a72f02bd54910725ad57f0eccb3a4a753902"),
        .target(
            name: "kernels_torchao_with_dependencies",
            dependencies: ["kernels_torchao", "executorch_with_dependencies", "threadpool_with_dependencies"],
            path: "swiftpm/kernels_torchao",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .binaryTarget(name: "threadpool", url: "https://ossci-ios.s3.amazonaws.com/executorch/threadpool-1.3.1.zip", checksum: "cc79da9eb28c023316622e109e0f07cf301677a189f4f59a95e626cb91ab5851"),
        .target(
            name: "threadpool_with_dependencies",
            dependencies: ["threadpool", "executorch_with_dependencies"],
            path: "swiftpm/threadpool",
            linkerSettings: [.linkedLibrary("c++")]
        ),
    ]
)
