"""CocoaPods: `etfetch.rb`, whose `etfetch_pod(spec)` gives a podspec what it links.

Static libraries that register are force-loaded where the app is linked, hence in `user_target_xcconfig`, with
paths that are made when the podspec is read: `$(PODS_TARGET_SRCROOT)` means nothing to the app's target. They
are not vendored besides, which would link them twice.
"""

from __future__ import annotations

from etfetch.generate import linking
from etfetch.generate.guards import quoted
from etfetch.generate.xcode import SDKS
from etfetch.lockfile import Lock

FILE = "etfetch.rb"


def render(lock: Lock, destination: str) -> dict[str, str]:
    """The file by its name."""
    locked = [platform for platform in linking.platforms(lock) if platform in SDKS]
    data = {SDKS[platform]: _platform(lock, platform) for platform in locked}
    filled = _RUBY.replace("@DATA@", _literal(data, "  ")).replace("@DESTINATION@", quoted(destination))
    return {FILE: filled}


def _platform(lock: Lock, platform: str) -> dict[str, object]:
    found: dict[str, list[str]] = {name: [] for name in _LISTS}
    standards = [17]  # what ExecuTorch's headers want
    for component in linking.linked(lock, platform):
        for link in component.links:
            for file in link.files:
                found[_place(link.kind, registers=link.registers)].append(file)
            for name in ("frameworks", "libraries", "resources", "headers", "definitions"):
                found[name] += [value for value in getattr(link, name) if value not in found[name]]
            standards += [link.cxx_standard] if link.cxx_standard else []
    return {**{name: values for name, values in found.items() if values}, "standard": f"c++{max(standards)}"}


def _literal(value: object, indent: str) -> str:
    """A Ruby literal. Keys are strings, so they stand before `=>`: after a colon they would be symbols."""
    deeper = f"{indent}  "
    if isinstance(value, dict):
        entries = [f"{deeper}{quoted(key)} => {_literal(one, deeper)},\n" for key, one in value.items()]
        return f"{{\n{''.join(entries)}{indent}}}"
    if isinstance(value, list):
        entries = [f"{deeper}{_literal(one, deeper)},\n" for one in value]
        return f"[\n{''.join(entries)}{indent}]"
    return quoted(str(value))


def _place(kind: str, *, registers: bool) -> str:
    if kind == "framework":
        return "vendored"
    return "force_load" if kind == "static" and registers else "plain"


_LISTS = (
    *("vendored", "force_load", "plain", "frameworks", "libraries"),
    *("resources", "headers", "definitions"),
)

_RUBY = """\
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
  root = File.join(__dir__, @DESTINATION@)
  libraries = @DATA@
  user = {}
  pod = {}
  libraries.each do |sdk, facts|
    force = facts.fetch("force_load", []).map { |file| "-force_load \\"#{File.join(root, file)}\\"" }
    plain = facts.fetch("plain", []).map { |file| "\\"#{File.join(root, file)}\\"" }
    flags = ["$(inherited)", *force, *plain]
    user["OTHER_LDFLAGS[sdk=#{sdk}*]"] = flags.join(" ")
    headers = facts.fetch("headers", []).map { |header| "\\"#{File.join(root, header)}\\"" }
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

    here = ->(file) { File.join(@DESTINATION@, file) }
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
"""
