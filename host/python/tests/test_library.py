# SPDX-License-Identifier: MIT
"""The binding's structures, constants and signatures are those of xmalloc.h."""

import ctypes
import doctest
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import pyxmalloc as xmc
from pyxmalloc import _library

HEADER = Path(__file__).parents[3] / "include" / "xmalloc.h"

STRUCTURES = {
    "xmc_heap_stats": _library.CStats,
    "xmc_heap_report": _library.CReport,
    "xmc_block": _library.CBlock,
}
ENUMERATIONS = {
    "XMC_": xmc.Status,
    "XMC_HEAP_": [*_library.Property, *_library.Info],
    "XMC_BACKING_": xmc.Backing,
    "XMC_COALESCE_": xmc.Coalescing,
    "XMC_PROBLEM_": xmc.Problem,
    "XMC_TEXT_": _library.Text,
    "XMC_TRACE_": xmc.Trace,
    "XMC_EVENT_": xmc.Event,
}


def facts():
    """C expressions, and what the binding takes them for"""
    for name, structure in STRUCTURES.items():
        yield f"sizeof({name})", ctypes.sizeof(structure)
        for field, *_ in structure._fields_:
            place = getattr(structure, field)
            yield f"offsetof({name}, {field})", place.offset
            yield f"sizeof((({name} *)0)->{field})", place.size
    for prefix, members in ENUMERATIONS.items():
        for member in members:
            yield prefix + member.name, int(member)
    yield "XMC_STATS_CLASSES", _library.STATS_CLASSES
    yield "XMC_BLOCK_OF_PAGES", _library.BLOCK_OF_PAGES
    yield "XMC_BLOCK_OF_REGION", _library.BLOCK_OF_REGION


def test_structures_and_constants(tmp_path):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    expected = list(facts())
    source, program = tmp_path / "facts.c", tmp_path / "facts"
    lines = "".join(f'  printf("%lld\\n", (long long)({expression}));\n' for expression, _ in expected)
    source.write_text(f"#include <stdio.h>\n#include <xmalloc.h>\nint main(void) {{\n{lines}}}\n")
    subprocess.run([compiler, "-I", HEADER.parent, source, "-o", program], check=True)
    seen = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    assert dict(expected) == {expression: int(value) for (expression, _), value in zip(expected, seen)}


def test_every_status():
    """Status has all of the header's."""
    defined = re.findall(r"#define XMC_(\w+) \(-58\d\d\)", HEADER.read_text())
    assert set(defined) == {s.name for s in xmc.Status}


C_TYPES = {
    "cl_int": ctypes.c_int32,
    "cl_uint": ctypes.c_uint32,
    "xmc_heap_info": ctypes.c_uint32,
    "xmc_heap_text": ctypes.c_uint32,
    "xmc_link_flags": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "xmcRef": ctypes.c_uint64,
    "xmcRegion": ctypes.c_uint64,
}
HANDLES = {"xmc_heap", "cl_context", "cl_device_id", "cl_command_queue", "cl_program", "cl_kernel"}


def kind(parameter):
    """A parameter's or result's ctypes type; "pointer" for pointers, handles and callbacks"""
    words = [w for w in re.findall(r"\w+|\*", parameter) if w != "const"]
    if "*" in words or words[0] in HANDLES or words[0].endswith("_callback"):
        return "pointer"
    return C_TYPES[words[0]]


def kind_of(c_type):
    simple = (ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t)
    return c_type if c_type in simple else "pointer"


@pytest.mark.parametrize("function", _library._functions)
def test_signature(function):
    header = re.sub(r"/\*.*?\*/", " ", HEADER.read_text(), flags=re.DOTALL)
    result, parameters = re.search(rf"XMALLOC_EXPORT ([^;(]*?){function}\(([^;]*)\);", header).groups()
    kinds = [kind(p) for p in parameters.split(",") if p.strip() != "void"]
    restype, argtypes = _library._functions[function]
    assert kinds == [kind_of(a) for a in argtypes]
    assert kind(result) == kind_of(restype)


def test_version():
    assert ".".join(map(str, xmc.version())) == metadata.version("pyxmalloc")


def test_source():
    assert "xmcMalloc" in xmc.source()


def test_two_loaders(context):
    """PyOpenCL's wheels have an OpenCL loader of their own. All loaders of the process say the same of a handle."""
    maps = Path("/proc/self/maps")
    loaders = (
        {line.split()[-1] for line in maps.read_text().splitlines() if "/libOpenCL" in line} if maps.exists() else ()
    )
    answers = set()
    for loader in loaders:
        number = ctypes.c_uint32()
        get_info = ctypes.CDLL(loader).clGetContextInfo
        get_info.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        assert get_info(context.int_ptr, 0x1083, 4, ctypes.byref(number), None) == 0  # CL_CONTEXT_NUM_DEVICES
        answers.add(number.value)
    if len(loaders) < 2:
        pytest.skip("there is one loader")
    assert answers == {1}


def test_readme():
    """The README's program runs and prints what it says."""
    text = (Path(__file__).parents[1] / "README.md").read_text()
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    names = {}
    exec(program, names)
    assert f"print(total)  # {names['total']}\n" in program


def test_docstring():
    assert doctest.testmod(xmc).failed == 0
