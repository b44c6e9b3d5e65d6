"""The pod helper, evaluated by Ruby with a stub of CocoaPods' specification."""

from __future__ import annotations

import json
from pathlib import Path

from etfetch.generate import Material, Outputs, render
from tests import native, test_linking
from tests.programs import need

STUB = """
require "json"
class System
  attr_reader :said
  def initialize; @said = {}; end
  def method_missing(name, *words); @said[name.to_s.chomp("=")] = words.first; end
  def respond_to_missing?(*) = true
end
class Spec < System
  def ios; @ios ||= System.new; end
  def osx; @osx ||= System.new; end
end
spec = Spec.new
load ARGV[0]
etfetch_pod(spec)
puts JSON.generate({ "pod" => spec.said, "ios" => spec.ios.said, "osx" => spec.osx.said })
"""


def test_a_podspec_gets_what_is_locked(tmp_path: Path) -> None:
    wanted, _ = test_linking.CASES["react-native"]
    lock = test_linking._lock(**wanted)
    project = tmp_path / "it's a #{pod}"
    project.mkdir()
    [file] = render(Material(Outputs(("cocoapods",), None, "app", "third-party"), lock), ("cocoapods",))
    (project / file.path).write_text(file.text)
    ran = native.run(project, need("ruby"), "-w", "-e", STUB, str(project / file.path))
    assert ran.stderr == ""
    said = json.loads(ran.stdout)
    root = f"{project}/third-party/ios"
    user = said["pod"]["user_target_xcconfig"]
    assert user["OTHER_LDFLAGS[sdk=iphoneos*]"] == (
        f'$(inherited) -force_load "{root}/CoreMLBackend.xcframework/ios-arm64/libCoreMLBackend.a" '
        f'-force_load "{root}/MLXBackend.xcframework/ios-arm64/libMLXBackend.a" '
        f'-force_load "{root}/XnnpackBackend.xcframework/ios-arm64/libXnnpackBackend.a" '
        f'"{root}/libs/executorch/libthreadpool_ios.a"'
    )
    assert "MLXBackend" not in user["OTHER_LDFLAGS[sdk=iphonesimulator*]"]
    assert user["EXCLUDED_ARCHS[sdk=iphonesimulator*]"] == "x86_64"
    assert "EXCLUDED_ARCHS[sdk=iphoneos*]" not in user
    pod = said["pod"]["pod_target_xcconfig"]
    assert pod["HEADER_SEARCH_PATHS[sdk=iphoneos*]"] == f'$(inherited) "{project}/third-party/include"'
    assert pod["CLANG_CXX_LANGUAGE_STANDARD"] == "c++17"
    assert said["ios"] == {
        "vendored_frameworks": ["third-party/ios/ExecutorchLib.xcframework"],
        "resources": ["third-party/ios/libs/executorch/mlx.metallib"],
        "frameworks": ["Accelerate", "CoreML", "Metal", "MetalKit", "MetalPerformanceShaders"],
        "libraries": ["c++", "z", "sqlite3"],
    }
    assert said["osx"] == {}
    assert said["pod"]["static_framework"] is True


def test_frameworks_for_the_mac(tmp_path: Path) -> None:
    wanted, _ = test_linking.CASES["apple-release"]
    lock = test_linking._lock(**wanted)
    [file] = render(Material(Outputs(("cocoapods",), None, "app", "third-party"), lock), ("cocoapods",))
    (tmp_path / file.path).write_text(file.text)
    said = json.loads(native.run(tmp_path, need("ruby"), "-w", "-e", STUB, str(tmp_path / file.path)).stdout)
    assert "vendored_frameworks" not in said["osx"]
    assert "CoreML" in said["osx"]["frameworks"]
    flags = said["pod"]["user_target_xcconfig"]["OTHER_LDFLAGS[sdk=macosx*]"]
    assert flags.count("-force_load") == 8
