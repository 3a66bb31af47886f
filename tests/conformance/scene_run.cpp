// A scene's work around a request: the placement of its operands, and the checks of their bytes.

#include "coverage.hpp"
#include "scene.hpp"

#include <troupe/request/fields.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace troupe::conformance {

struct operand_field {
  std::string name;
  any_tensor* view;
  access what;
};

namespace {

constexpr auto poison_byte = std::byte{0xFF};  // a NaN in every floating type

std::vector<operand_field> operands_of(const request_type& type, void* request) {
  std::vector<operand_field> given;
  for_each_tensor(type, request, [&](std::string_view name, any_tensor& t, access role) {
    if (!t.null()) given.push_back({std::string(name), &t, role});
  });
  return given;
}

/// The fields that hold exactly this view; none where another one shares elements with it.
std::vector<any_tensor*> holders(const any_tensor& view, const std::vector<operand_field>& fields) {
  std::vector<any_tensor*> found;
  for (const operand_field& f : fields) {
    if (f.view->same_view(view)) {
      found.push_back(f.view);
    } else if (f.view->overlaps(view)) {
      return {};
    }
  }
  return found;
}

void copy_content(const placement& from, placement& to) {
  std::vector<std::byte*> places;
  for_each_offset(from.view, [&](std::size_t, std::int64_t offset) {
    places.push_back(from.in(from.memory->image, offset));
  });
  const std::int64_t size = size_of(to.view.type());
  for_each_offset(to.view, [&](std::size_t flat, std::int64_t offset) {
    std::copy_n(places[flat], size, to.in(to.memory->image, offset));
  });
}

}  // namespace

void scene::rearrange(const request_type& type, void* request,
                      const std::vector<operand_field>& fields) {
  // Depends on the case alone, so that it is the same whichever tests are run before it.
  std::string all = text_ + std::string(type.name);
  for (const operand_field& f : fields)
    all += f.view->to_string();
  std::mt19937_64 random(test_seed() ^ std::hash<std::string>{}(all));
  if (keeps_layouts_ || random() % 2 == 0) return;

  // The most first; some requests want rows apart in multiples, or no rows apart at all.
  struct freedom {
    bool apart;
    std::int64_t unit;
  };
  constexpr freedom freedoms[] = {{true, 1}, {true, 16}, {false, 1}, {false, 16}};
  for (test_tensor& t : tensors_) {
    const bool shared = std::ranges::any_of(tensors_, [&](const test_tensor& other) {
      return &other != &t && other.given.memory == t.given.memory;
    });
    if (shared || t.view.empty() || !t.view.injective()) continue;
    const std::vector<any_tensor*> held = holders(t.view, fields);
    if (held.empty()) continue;
    const auto give = [&](const any_tensor& view) {
      for (any_tensor* const one : held)
        *one = view;
    };
    for (const freedom& f : freedoms) {
      const auto strides = f.apart ? widened_strides(t.view, f.unit, random)
                                   : extents(t.view.strides().begin(), t.view.strides().end());
      const auto first = f.unit * static_cast<std::int64_t>(random() % 8);
      placement moved = place(runner_, t.view.type(), t.view.extents(), strides, first);
      give(moved.view);
      if (moved.view.injective() && type.validate(request)) {
        copy_content(t.given, moved);
        t.used = std::move(moved);
        break;
      }
      give(t.view);
    }
  }
}

void scene::before(const request_type& type, void* request) {
  const std::vector<operand_field> fields = operands_of(type, request);
  if (!fields.empty()) cover(type.name, fields.front().view->type());
  for (const operand_field& f : fields)
    cover_layout(type.name, f.view->packed());
  for (test_tensor& t : tensors_)
    t.used = t.given;
  rearrange(type, request, fields);
  roles_.clear();
  for (const operand_field& f : fields)
    roles_.push_back({f.name, *f.view, f.what});
  // If one view is in two lists, an operand that is read is also written.
  for (role& one : roles_) {
    for (role& other : roles_) {
      if (&one == &other || one.what != access::read || other.what == access::read) continue;
      if (one.view.same_view(other.view)) one.what = other.what = access::update;
    }
  }

  for (const test_tensor& t : tensors_) {
    for (const role& r : roles_) {
      if (r.what != access::write || r.view.address() != t.used.view.address()) continue;
      for_each_offset(r.view, [&](std::size_t, std::int64_t offset) {
        const std::int64_t size = size_of(r.view.type());
        std::fill_n(t.used.memory->image.data() + t.used.first + offset * size, size, poison_byte);
      });
    }
  }
  for (const test_tensor& t : tensors_) {
    t.used.memory->after.clear();
    runner_.upload(t.used.memory->storage, t.used.memory->image);
  }
}

void scene::after() {
  for (const test_tensor& t : tensors_) {
    guarded_memory& memory = *t.used.memory;
    std::vector<std::byte>& bytes = memory.after;
    if (!bytes.empty()) continue;  // looked at with another tensor that lies there
    bytes.resize(memory.image.size());
    runner_.download(memory.storage, bytes);
    // Every byte may change only where some written view lies.
    std::vector<std::byte> allowed = memory.image;
    for (const test_tensor& other : tensors_) {
      if (other.used.memory != t.used.memory) continue;
      for (const role& r : roles_) {
        if (r.what == access::read || r.view.address() != other.used.view.address()) continue;
        for_each_offset(r.view, [&](std::size_t, std::int64_t offset) {
          const std::int64_t size = size_of(r.view.type());
          const auto at = static_cast<std::ptrdiff_t>(other.used.first + offset * size);
          std::copy_n(bytes.begin() + at, size, allowed.begin() + at);
        });
      }
    }
    if (bytes != allowed) {
      const auto changed = std::ranges::mismatch(bytes, allowed).in1 - bytes.begin();
      ADD_FAILURE() << "wrote outside what it describes: byte " << changed - t.used.first
                    << " from the first of " << t.used.view.to_string() << note();
    }
  }
}

}  // namespace troupe::conformance
