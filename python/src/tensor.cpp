#include "tensor.hpp"

#include "arguments/given.hpp"
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "dtypes.hpp"
#include "future.hpp"

#include <string>

namespace troupe::python {
namespace {

std::string bracketed(std::span<const std::int64_t> all) {
  std::string text = "[";
  for (std::size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(all[i]);
  return text + "]";
}

std::string shown(const py_tensor& t) {
  std::string text = "troupe.Tensor(shape=" + bracketed(t.view.extents()) +
                     ", dtype=" + std::string(to_string(t.view.type()));
  if (!t.view.packed()) text += ", strides=" + bracketed(t.view.strides());
  text += t.view.space() == memory_space::host
              ? ", host memory"
              : ", device=" + std::to_string(t.device->device.ordinal());
  if (t.view.frozen()) text += ", frozen";
  if (t.view.released()) text += ", released";
  if (t.device && !t.device->device.tainted_by(t.view).empty()) text += ", tainted";
  return text + ")";
}

// An axis; a negative one counts from the end.
int axis_of(const any_tensor& view, std::int64_t axis) {
  const int rank = view.rank();
  if (axis < -rank || axis >= rank) {
    throw nb::index_error(
        ("dimension " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank))
            .c_str());
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// A view without one of its dimensions, at one index.
any_tensor at_index(const any_tensor& view, int dimension, std::int64_t index) {
  const std::int64_t extent = view.extent(dimension);
  if (index < -extent || index >= extent) {
    throw nb::index_error(("index " + std::to_string(index) + " of dimension " +
                           std::to_string(dimension) + " with extent " + std::to_string(extent))
                              .c_str());
  }
  if (index < 0) index += extent;
  const any_tensor one = value_of(view.slice(dimension, index, index + 1));
  std::vector<std::int64_t> extents(one.extents().begin(), one.extents().end());
  std::vector<std::int64_t> strides(one.strides().begin(), one.strides().end());
  extents.erase(extents.begin() + dimension);
  strides.erase(strides.begin() + dimension);
  return value_of(one.as_strided(shape(std::span(extents)), strides));
}

any_tensor at_slice(const any_tensor& view, int dimension, nb::handle slice) {
  Py_ssize_t begin = 0;
  Py_ssize_t end = 0;
  Py_ssize_t step = 0;
  if (PySlice_Unpack(slice.ptr(), &begin, &end, &step) != 0) throw nb::python_error();
  PySlice_AdjustIndices(view.extent(dimension), &begin, &end, step);
  if (step < 0) {
    throw nb::value_error(
        "a tensor's strides are not negative: slice it forward, and reverse in NumPy");
  }
  return value_of(view.slice(dimension, begin, std::max(begin, end), step));
}

any_tensor at(any_tensor view, nb::handle index) {
  const nb::object all =
      nb::isinstance<nb::tuple>(index) ? nb::borrow(index) : nb::object(nb::make_tuple(index));
  std::size_t wanted = 0;
  for (nb::handle one : all)
    wanted += one.is(Py_Ellipsis) ? 0 : 1;
  if (wanted > static_cast<std::size_t>(view.rank())) {
    throw nb::index_error(
        (std::to_string(wanted) + " indices for a tensor of rank " + std::to_string(view.rank()))
            .c_str());
  }
  int dimension = 0;
  std::size_t left = wanted;
  for (nb::handle one : all) {
    if (one.is(Py_Ellipsis)) {
      // The following indices count from the end.
      dimension = view.rank() - static_cast<int>(left);
      continue;
    }
    --left;
    if (PyBool_Check(one.ptr())) {
      throw nb::type_error(
          "a tensor is not indexed by True and False, which are masks in NumPy: copy it out with "
          "numpy(), or use 0 and 1");
    }
    if (one.is_none()) {
      throw nb::type_error(
          "a tensor is indexed by integers, slices and ...; None adds a dimension in NumPy, and "
          "reshape() does so here");
    }
    if (PySlice_Check(one.ptr())) {
      view = at_slice(view, dimension, one);
      ++dimension;
    } else if (const auto number = integer_from(one)) {
      view = at_index(view, dimension, *number);
    } else {
      throw nb::type_error(
          "a tensor is indexed by integers, slices and ...; for what NumPy calls "
          "fancy indexing, copy it out with numpy()");
    }
  }
  return view;
}

// A NumPy array of the tensor's shape and type, and a view of its bytes to write to.
struct new_array {
  nb::object array;
  nb::object bytes;
};
new_array make_array(const any_tensor& view) {
  const nb::object made =
      nb::module_::import_("troupe.arrays")
          .attr("make_array")(tuple_of(view.extents()), nb::str(numpy_name(view.type()).data()));
  return {made[0], made[1]};
}

nb::object to_numpy(py_tensor& t) {
  const new_array made = make_array(t.view);
  const held_buffer target(made.bytes, PyBUF_WRITABLE);
  device& on = t.device->in_order();
  value_of(
      without_gil([&] { return on.copy_out(t.view, t.view.type(), target.bytes()).get_result(); }));
  return made.array;
}

// Waits until it is read-only. A tensor that shares its memory with others is copied to memory of
// its own.
nb::object freeze(nb::handle self) {
  py_tensor& t = *nb::inst_ptr<py_tensor>(self);
  device& d = t.device->in_order();
  auto frozen = without_gil([&] { return d.freeze(t.view).get_result(); });
  if (frozen) return nb::borrow(self);
  if (frozen.error().code != errc::unsupported || t.view.space() == memory_space::host) {
    raise(frozen.error());
  }
  py_tensor own{value_of(d.allocate(t.view.type(), shape(t.view.extents()), initial::undefined,
                                    placement::own)),
                t.device};
  value_of(without_gil([&]() -> result<void> {
    if (auto copied = d.copy(t.view, own.view).get_result(); !copied) return copied;
    return d.freeze(own.view).get_result();
  }));
  return nb::cast(std::move(own));
}

access access_from(const std::string& name) {
  if (name == "read") return access::read;
  if (name == "write") return access::write;
  if (name == "update") return access::update;
  throw nb::value_error(
      ("access must be 'read', 'write' or 'update'; it is '" + name + "'").c_str());
}

}  // namespace

nb::tuple tuple_of(std::span<const std::int64_t> all) {
  nb::object made = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
  for (std::size_t i = 0; i < all.size(); ++i)
    PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(all[i]));
  return nb::borrow<nb::tuple>(made);
}

shape shape_from(nb::handle extents) {
  if (const auto one = integer_from(extents)) return shape{*one};
  return shape(std::span<const std::int64_t>(integers_given("shape", extents)));
}

void add_tensor(nb::module_& m) {
  const auto viewed = [](const py_tensor& t, any_tensor view) {
    return py_tensor{std::move(view), t.device};
  };
  nb::class_<py_tensor>(m, "Tensor",
                        "A view of device or host memory: type, shape, strides.\n\n"
                        "It keeps its memory alive. Slicing, transposing and reshaping make other\n"
                        "views of the same memory, and copy nothing.")
      .def("__repr__", &shown)
      .def_prop_ro(
          "shape", [](const py_tensor& t) { return tuple_of(t.view.extents()); },
          "The extent of each dimension.")
      .def_prop_ro(
          "strides", [](const py_tensor& t) { return tuple_of(t.view.strides()); }, "In elements.")
      .def_prop_ro(
          "dtype", [](const py_tensor& t) { return std::string(to_string(t.view.type())); },
          "Troupe's name of the element type, such as 'f32' or 'bf16'.")
      .def_prop_ro(
          "ndim", [](const py_tensor& t) { return t.view.rank(); }, "The number of dimensions.")
      .def_prop_ro(
          "size", [](const py_tensor& t) { return t.view.count(); }, "The number of elements.")
      .def_prop_ro(
          "nbytes", [](const py_tensor& t) { return t.view.count() * size_of(t.view.type()); },
          "The bytes of its elements, without gaps between them.")
      .def_prop_ro(
          "in_host_memory", [](const py_tensor& t) { return t.view.space() == memory_space::host; },
          "True for a tensor of device.host_empty().")
      .def_prop_ro(
          "frozen", [](const py_tensor& t) { return t.view.frozen(); },
          "True if no worker can write its memory: see freeze().")
      .def_prop_ro(
          "T", [viewed](const py_tensor& t) { return viewed(t, t.view.transpose()); },
          "The view with its last two dimensions swapped.")
      .def("__len__",
           [](const py_tensor& t) {
             if (t.view.rank() == 0) throw nb::type_error("a tensor of rank 0 has no length");
             return t.view.extent(0);
           })
      .def(
          "__getitem__",
          [viewed](const py_tensor& t, nb::handle index) { return viewed(t, at(t.view, index)); },
          nb::arg("index").none())
      .def(
          "reshape",
          [viewed](const py_tensor& t, nb::args extents) {
            std::vector<std::int64_t> wanted = integers_given("reshape()", extents);
            std::int64_t known = 1;
            for (const std::int64_t one : wanted) {
              // Too large a count matches no tensor.
              if (one != -1 && __builtin_mul_overflow(known, one, &known)) known = 0;
            }
            for (std::int64_t& one : wanted) {
              if (one == -1 && known > 0) one = t.view.count() / known;
            }
            return viewed(t, value_of(t.view.reshape(shape(std::span(wanted)))));
          },
          "The same packed elements in another shape; one extent may be -1.")
      .def(
          "permute",
          [viewed](const py_tensor& t, nb::args order) {
            std::vector<int> all;
            for (const std::int64_t one : integers_given("permute()", order))
              all.push_back(axis_of(t.view, one));
            return viewed(t, value_of(t.view.permute(all)));
          },
          "The view with its dimensions in another order: t.permute(0, 2, 1) or t.permute((0, 2, "
          "1)).")
      .def(
          "transpose",
          [viewed](const py_tensor& t, int a, int b) {
            std::vector<int> order(static_cast<std::size_t>(t.view.rank()));
            for (std::size_t i = 0; i < order.size(); ++i)
              order[i] = static_cast<int>(i);
            std::swap(order[static_cast<std::size_t>(axis_of(t.view, a))],
                      order[static_cast<std::size_t>(axis_of(t.view, b))]);
            return viewed(t, value_of(t.view.permute(order)));
          },
          nb::arg("a") = -2, nb::arg("b") = -1, "The view with two dimensions swapped.")
      .def("numpy", &to_numpy,
           "Copies the elements to a new NumPy array. Waits for the requests that write them.")
      .def(
          "__array__",
          [](nb::handle self, nb::handle dtype, nb::handle copy) {
            if (copy.is(Py_False)) {
              throw nb::value_error(
                  "the elements are in a device's memory and have to be copied; mapped() shows "
                  "them "
                  "in place");
            }
            nb::object made = to_numpy(*nb::inst_ptr<py_tensor>(self));
            return dtype.is_none() ? made : made.attr("astype")(dtype, nb::arg("copy") = false);
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def(
          "tolist", [](py_tensor& t) { return to_numpy(t).attr("tolist")(); },
          "The elements as nested lists of Python's numbers. Waits for earlier requests.")
      .def(
          "item",
          [](py_tensor& t) {
            if (t.view.count() != 1) {
              throw nb::value_error(("item() wants one element; this is " + shown(t)).c_str());
            }
            return to_numpy(t).attr("item")();
          },
          "The value of a tensor with one element.")
      .def(
          "freeze", &freeze,
          "Makes the tensor's memory read-only, in this worker and all that come, and returns the\n"
          "tensor. Waits for requests that write it. A small tensor that shares its piece of\n"
          "memory with others is copied to a piece of its own first, and the copy is returned.")
      .def(
          "thaw",
          [](nb::handle self) {
            py_tensor& t = *nb::inst_ptr<py_tensor>(self);
            device& on = t.device->in_order();
            value_of(without_gil([&] { return on.thaw(t.view).get_result(); }));
            return nb::borrow(self);
          },
          "Undoes freeze().")
      .def(
          "release", [](py_tensor& t) { t.device->in_order().release(t.view); },
          "Invalidates every view of the memory at once; it is freed once requests are done with "
          "it.")
      .def("_map",
           [](nb::handle self, const std::string& role, std::optional<double> timeout) {
             py_tensor& t = *nb::inst_ptr<py_tensor>(self);
             return py_future(
                 t.device->in_order().mapped(t.view, access_from(role), duration_of(timeout)),
                 nb::borrow(self));
           })
      .def("_view_in_place",
           [](nb::handle self) {
             py_tensor& t = *nb::inst_ptr<py_tensor>(self);
             return numpy_in_place(self, t.view, t.view.address());
           })
      .def_prop_ro(
          "_address",
          [](const py_tensor& t) { return reinterpret_cast<std::uintptr_t>(t.view.address()); })
      .def_prop_ro("_device_type",
                   [](const py_tensor& t) {
                     return t.device->device.description().architecture.empty() ? "cpu" : "cuda";
                   })
      .def_prop_ro("_ordinal",
                   [](const py_tensor& t) { return t.device->device.description().ordinal; });
}

}  // namespace troupe::python
