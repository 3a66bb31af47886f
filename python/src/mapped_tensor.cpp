// Memory that the program uses in place: mapped tensors, and host tensors as NumPy arrays.
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "dtypes.hpp"
#include "tensor.hpp"

#include <nanobind/ndarray.h>

#include <array>
#include <string>
#include <vector>

namespace troupe::python {
namespace {

using any_array = nb::ndarray<>;

any_array array_of(void* address, const any_tensor& view, nb::handle owner, int device_type,
                   int device_id) {
  std::array<std::size_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};
  for (int i = 0; i < view.rank(); ++i) {
    extents[static_cast<std::size_t>(i)] = static_cast<std::size_t>(view.extent(i));
    strides[static_cast<std::size_t>(i)] = view.stride(i);
  }
  return any_array(address, static_cast<std::size_t>(view.rank()), extents.data(), owner,
                   strides.data(), dlpack_of(view.type()), device_type, device_id);
}

const any_tensor& mapped_view(const py_mapped_tensor& m) {
  if (m.mapped.address() == nullptr) throw nb::value_error("the tensor was unmapped");
  return m.mapped.tensor();
}

struct place {
  int type;
  int ordinal;
};
// DLPack's number of the kind of memory.
place place_of(const py_mapped_tensor& m) {
  return m.on_gpu ? place{nb::device::cuda::value, m.ordinal} : place{nb::device::cpu::value, 0};
}

nb::object dlpack_of_mapped(nb::handle self) {
  auto& m = *nb::inst_ptr<py_mapped_tensor>(self);
  const any_tensor& view = mapped_view(m);
  const place where = place_of(m);
  return nb::cast(array_of(m.mapped.address(), view, self, where.type, where.ordinal));
}

// The address, for NumPy's and CuPy's array interfaces.
nb::dict interface_of(const any_tensor& view, const void* address) {
  nb::dict made;
  made["shape"] = tuple_of(view.extents());
  const std::int64_t bytes = size_of(view.type());
  std::vector<std::int64_t> strides;
  for (const std::int64_t stride : view.strides())
    strides.push_back(stride * bytes);
  made["strides"] = view.packed() ? nb::object(nb::none()) : nb::object(tuple_of(strides));
  made["typestr"] = nb::module_::import_("troupe.arrays")
                        .attr("typestr")(nb::str(numpy_name(view.type()).data()));
  made["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(address), false);
  made["version"] = 3;
  return made;
}

}  // namespace

py_mapped_tensor::py_mapped_tensor(mapped_tensor m, const py_tensor& of)
    : mapped(std::move(m)),
      on_gpu(of.view.space() != memory_space::host &&
             !of.device->device.description().architecture.empty()),
      ordinal(on_gpu ? of.device->device.description().ordinal : 0) {}

nb::object numpy_in_place(nb::handle owner, const any_tensor& view, void* address) {
  return nb::module_::import_("troupe.arrays")
      .attr("array_in_place")(owner, interface_of(view, address),
                              nb::str(numpy_name(view.type()).data()));
}

void add_mapped_tensor(nb::module_& m) {
  nb::class_<py_mapped_tensor>(
      m, "MappedTensor",
      "A tensor that the program uses in place until unmap(), or the end of\n"
      "a with block. Later requests on it wait until then.")
      .def_prop_ro(
          "shape", [](const py_mapped_tensor& x) { return tuple_of(mapped_view(x).extents()); },
          "The extent of each dimension.")
      .def_prop_ro(
          "dtype",
          [](const py_mapped_tensor& x) { return std::string(to_string(mapped_view(x).type())); },
          "Troupe's name of the element type, such as 'f32'.")
      .def(
          "unmap", [](py_mapped_tensor& x) { without_gil([&] { x.mapped.unmap(); }); },
          "Ends the mapping. On a GPU the program synchronises its own work first.")
      .def(
          "numpy",
          [](nb::handle self) {
            auto& x = *nb::inst_ptr<py_mapped_tensor>(self);
            const any_tensor& view = mapped_view(x);
            if (x.on_gpu) {
              throw nb::type_error(
                  "the elements are in a GPU's memory: torch.from_dlpack(mapped) or "
                  "cupy.from_dlpack(mapped) shows them in place, tensor.numpy() copies them");
            }
            return numpy_in_place(self, view, x.mapped.address());
          },
          "The elements in place, on the CPU backend.")
      .def("__dlpack__", [](nb::handle self, nb::kwargs) { return dlpack_of_mapped(self); })
      .def("__dlpack_device__",
           [](const py_mapped_tensor& x) {
             const place where = place_of(x);
             return nb::make_tuple(where.type, where.ordinal);
           })
      .def_prop_ro("__cuda_array_interface__",
                   [](const py_mapped_tensor& x) {
                     if (!x.on_gpu)
                       throw nb::attribute_error("the tensor is not in a GPU's memory");
                     return interface_of(mapped_view(x), x.mapped.address());
                   })
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__",
           [](py_mapped_tensor& x, nb::args) { without_gil([&] { x.mapped.unmap(); }); });
}

}  // namespace troupe::python
