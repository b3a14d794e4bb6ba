# SPDX-License-Identifier: MIT
"""A Conan 2 recipe of the tree that it lies in: conan create cmake/conan

OpenCL's headers and loader are the system's (Debian: ocl-icd-opencl-dev). Consumers use the package's own
xmallocConfig.cmake: find_package(xmalloc) with the generator CMakeToolchain.
"""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class XMallocConan(ConanFile):
    name = "xmalloc"
    license = "MIT"
    description = "Dynamic memory for OpenCL kernels: malloc and free that any work-item can call"
    topics = ("opencl", "gpu", "allocator")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], "tools": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tools": False}
    implements = ["auto_shared_fpic"]
    languages = "C"

    def _tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        lists = load(self, os.path.join(self._tree(), "CMakeLists.txt"))
        self.version = re.search(r"project\(xmalloc VERSION ([0-9.]+)", lists).group(1)

    def export(self):
        # set_version is asked again where the recipe lies in Conan's cache.
        copy(self, "CMakeLists.txt", self._tree(), os.path.join(self.export_folder, "..", ".."))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "CHANGELOG.md", "cl/*", "cmake/*", "host/*", "include/*"):
            copy(self, pattern, self._tree(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "XMALLOC_INSTALL": True,
            "XMALLOC_INSTALL_EXAMPLES": False,
            "XMALLOC_BUILD_TOOLS": bool(self.options.tools),
            "XMALLOC_BUILD_TESTS": False,
            "XMALLOC_BUILD_BENCH": False,
        })
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["xmalloc"]
        self.cpp_info.system_libs = ["OpenCL"] + ([] if self.options.shared else ["pthread"])
        if not self.options.shared:
            self.cpp_info.defines = ["XMALLOC_STATIC_DEFINE"]
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "xmalloc")]
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package has its own
