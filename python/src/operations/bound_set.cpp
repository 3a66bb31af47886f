// Sets of frozen tensors that calls name, and whose arrays a worker keeps.
#include "operations/bound_set.hpp"

#include "binding.hpp"

#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace troupe::python {
namespace {

// The format of troupe.methods.binding: a header, then for each tensor its place, and its name.
constexpr std::uint64_t magic = 0x7472'6f75'7065'0001u;
struct table_header {
  std::uint64_t magic_number;
  std::uint64_t id;  ///< this table's, at random: its memory may have been another's before
  std::uint64_t count;
  std::uint64_t named;  ///< 1: a dict by name; 0: a list
};
struct table_entry {
  std::uint64_t address;
  std::uint32_t type;
  std::uint32_t rank;
  std::int64_t extents[max_rank];
  std::int64_t strides[max_rank];
  std::uint64_t name_bytes;  ///< the name follows, filled up to a multiple of 8
};

class table_reader {
 public:
  explicit table_reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T made;
    std::memcpy(&made, piece(sizeof(T)).data(), sizeof(T));
    return made;
  }
  std::span<const std::byte> piece(std::size_t bytes) {
    if (bytes > bytes_.size()) throw nb::value_error("a bound set's table is cut");
    const auto first = bytes_.first(bytes);
    bytes_ = bytes_.subspan(bytes);
    return first;
  }

 private:
  std::span<const std::byte> bytes_;
};

array_view view_of(const table_entry& e) {
  if (e.type >= static_cast<std::uint32_t>(dtype_count) || e.rank > max_rank) {
    throw nb::value_error("a bound set's table has been overwritten");
  }
  array_view v;
  v.address = reinterpret_cast<void*>(e.address);
  v.type = static_cast<dtype>(e.type);
  v.rank = static_cast<int>(e.rank);
  std::memcpy(v.extents.data(), e.extents, sizeof(e.extents));
  std::memcpy(v.strides.data(), e.strides, sizeof(e.strides));
  v.read_only = true;
  return v;
}

}  // namespace

nb::object bound_views(const any_tensor& table, PyObject* kind,
                       const std::function<nb::object(const array_view&)>& make) {
  // With the GIL, and in a turn.
  static auto& made = *new std::map<std::pair<std::uint64_t, PyObject*>, nb::object>;
  constexpr std::size_t most_kept = 256;
  table_reader read({table.address(), static_cast<std::size_t>(table.count())});
  const auto header = read.take<table_header>();
  if (header.magic_number != magic) {
    throw nb::value_error("a tensor was given in the place of a bound set");
  }
  const std::pair key(header.id, kind);
  if (const auto found = made.find(key); found != made.end()) return found->second;
  nb::dict by_name;
  nb::list in_order;
  for (std::uint64_t i = 0; i < header.count; ++i) {
    const auto entry = read.take<table_entry>();
    const auto name = read.piece(entry.name_bytes);
    (void)read.piece(-entry.name_bytes % 8);
    nb::object array = make(view_of(entry));
    if (!array.is_valid()) throw nb::python_error();
    in_order.append(array);
    by_name[nb::str(reinterpret_cast<const char*>(name.data()), name.size())] = array;
  }
  // The arrays are those of all calls, so no call is to change which there are.
  nb::object all = header.named != 0 ? nb::steal(PyDictProxy_New(by_name.ptr()))
                                     : nb::object(nb::tuple(in_order));
  if (!all.is_valid()) throw nb::python_error();
  if (made.size() == most_kept) made.clear();
  made.emplace(key, all);
  return all;
}

}  // namespace troupe::python
