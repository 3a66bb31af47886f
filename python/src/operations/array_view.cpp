// Tensors as operations of Python see them, in a worker.
#include "operations/array_view.hpp"

#include "binding.hpp"
#include "dtypes.hpp"
#include "tensor.hpp"

#include <nanobind/ndarray.h>

#include <string>

namespace troupe::python {
namespace {

using extents_array = std::array<std::size_t, max_rank>;

extents_array sizes_of(const array_view& v) {
  extents_array sizes{};
  for (int i = 0; i < v.rank; ++i)
    sizes[static_cast<std::size_t>(i)] =
        static_cast<std::size_t>(v.extents[static_cast<std::size_t>(i)]);
  return sizes;
}

std::span<const std::int64_t> of(const array_view& v,
                                 const std::array<std::int64_t, max_rank>& all) {
  return std::span(all).first(static_cast<std::size_t>(v.rank));
}

nb::object dlpack_capsule(nb::handle self) {
  const auto& v = *nb::inst_ptr<array_view>(self);
  const extents_array sizes = sizes_of(v);
  const bool on_gpu = v.ordinal >= 0;
  return nb::cast(nb::ndarray<>(v.address, static_cast<std::size_t>(v.rank), sizes.data(), self,
                                v.strides.data(), dlpack_of(v.type),
                                on_gpu ? nb::device::cuda::value : nb::device::cpu::value,
                                on_gpu ? v.ordinal : 0));
}

nb::dict interface_of(const array_view& v) {
  nb::dict made;
  made["shape"] = tuple_of(of(v, v.extents));
  if (v.packed()) {
    made["strides"] = nb::none();
  } else {
    std::vector<std::int64_t> bytes;
    for (const std::int64_t stride : of(v, v.strides))
      bytes.push_back(stride * size_of(v.type));
    made["strides"] = tuple_of(bytes);
  }
  made["typestr"] =
      nb::module_::import_("troupe.arrays").attr("typestr")(nb::str(numpy_name(v.type).data()));
  made["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(v.address), v.read_only);
  made["version"] = 3;
  if (v.stream != 0) made["stream"] = v.stream;
  return made;
}

// NumPy has no type of its own for these.
bool needs_ml_dtypes(dtype type) noexcept {
  return type == dtype::bf16 || type == dtype::e4m3 || type == dtype::e5m2;
}

// The end of the last element.
std::int64_t reach_in_bytes(const array_view& v) {
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(v.rank); ++i) {
    if (v.extents[i] == 0) return 0;
    elements += (v.extents[i] - 1) * v.strides[i];
  }
  return elements * size_of(v.type);
}

// `numpy.ndarray` and its types, kept because each argument of each call needs them.
struct numpy_types {
  PyObject* array = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  std::array<PyObject*, static_cast<std::size_t>(dtype_count)> of{};

  PyObject* for_type(dtype type) {
    PyObject*& one = of[static_cast<std::size_t>(type)];
    if (one == nullptr) {
      one =
          nb::object(nb::module_::import_("numpy").attr("dtype")(numpy_name(type))).release().ptr();
    }
    return one;
  }
};

}  // namespace

array_view::array_view(const any_tensor& t, void* at, bool reads_only)
    : address(at), type(t.type()), rank(t.rank()), read_only(reads_only) {
  for (int i = 0; i < rank; ++i) {
    extents[static_cast<std::size_t>(i)] = t.extent(i);
    strides[static_cast<std::size_t>(i)] = t.stride(i);
  }
}

bool array_view::packed() const noexcept {
  std::int64_t step = 1;
  for (std::size_t i = static_cast<std::size_t>(rank); i-- > 0;) {
    if (extents[i] != 1 && strides[i] != step) return false;
    step *= extents[i];
  }
  return true;
}

nb::object numpy_of(const array_view& view) {
  if (needs_ml_dtypes(view.type)) {
    return nb::module_::import_("troupe.arrays")
        .attr("array_in_place")(object_of(view), interface_of(view),
                                nb::str(numpy_name(view.type).data()));
  }
  static numpy_types& numpy = *new numpy_types;
  static char nothing = 0;
  const std::int64_t bytes = reach_in_bytes(view);
  char* const address = bytes == 0 ? &nothing : static_cast<char*>(view.address);
  const nb::object memory =
      nb::steal(PyMemoryView_FromMemory(address, bytes, view.read_only ? PyBUF_READ : PyBUF_WRITE));
  const nb::object shape = tuple_of(of(view, view.extents));
  nb::object strides = nb::none();
  if (!view.packed()) {
    std::array<std::int64_t, max_rank> in_bytes{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(view.rank); ++i)
      in_bytes[i] = view.strides[i] * size_of(view.type);
    strides = tuple_of(of(view, in_bytes));
  }
  static PyObject* const zero = PyLong_FromLong(0);
  PyObject* const arguments[] = {shape.ptr(), numpy.for_type(view.type), memory.ptr(), zero,
                                 strides.ptr()};
  return nb::steal(PyObject_Vectorcall(numpy.array, arguments, strides.is_none() ? 3 : 5, nullptr));
}

nb::object object_of(const array_view& view) { return nb::cast(view); }

void add_array_view(nb::module_& m) {
  nb::class_<array_view>(
      m, "ArrayView",
      "A tensor in a worker, during one call of an operation:\n"
      "torch.from_dlpack(view), cupy.asarray(view) and numpy.asarray(view) show\n"
      "its elements in place.")
      .def_prop_ro("shape", [](const array_view& v) { return tuple_of(of(v, v.extents)); })
      .def_prop_ro(
          "strides", [](const array_view& v) { return tuple_of(of(v, v.strides)); }, "In elements.")
      .def_prop_ro("dtype", [](const array_view& v) { return std::string(to_string(v.type)); })
      .def_prop_ro("ndim", [](const array_view& v) { return v.rank; })
      .def_ro("read_only", &array_view::read_only)
      .def_ro("stream", &array_view::stream, "The lane's CUDA stream, as a number; 0 on the CPU.")
      .def("__dlpack__", [](nb::handle self, nb::kwargs) { return dlpack_capsule(self); })
      .def("__dlpack_device__",
           [](const array_view& v) {
             return v.ordinal >= 0 ? nb::make_tuple(nb::device::cuda::value, v.ordinal)
                                   : nb::make_tuple(nb::device::cpu::value, 0);
           })
      .def_prop_ro("__cuda_array_interface__",
                   [](const array_view& v) {
                     if (v.ordinal < 0) {
                       throw nb::attribute_error("the elements are not in a GPU's memory");
                     }
                     return interface_of(v);
                   })
      .def_prop_ro("__array_interface__", [](const array_view& v) {
        if (v.ordinal >= 0) throw nb::attribute_error("the elements are in a GPU's memory");
        return interface_of(v);
      });
}

}  // namespace troupe::python
