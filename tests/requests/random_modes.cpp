#include "random_modes.hpp"

#include <troupe/tensors.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace troupe::testing_requests {
namespace {

class mode_drawing {
 public:
  mode_drawing(std::mt19937_64& random, const view_source& views) : random_(random), views_(views) {
    for (std::int64_t& extent : extents_)
      extent = static_cast<std::int64_t>(below(5));
  }

  void fill(tensors::contract& r) {
    r.a = operand(r.d.type(), 4);
    r.b = operand(r.d.type(), 4);
    result(r.d, r.d.type());
    addend(r);
    r.modes = modes_;
  }
  void fill(tensors::reduce& r) {
    if (is_complex(r.d.type())) r.op = tensors::reduction::sum;
    r.a = operand(r.d.type(), 5);
    result(r.d, r.d.type());
    addend(r);
    r.modes = modes_;
  }
  void fill(tensors::einsum& r) {
    r.operands.clear();
    for (std::size_t n = 1 + below(4); n > 0; --n)
      r.operands.push_back(operand(r.d.type(), 3));
    result(r.d, r.d.type());
    r.modes = modes_;
  }
  void fill(tensors::contract_blocks& r) {
    const dtype type = r.d.type();
    const std::string a = each_once();
    const std::string b = each_once();
    std::string order = a;
    for (const char mode : b) {
      if (a.find(mode) == std::string::npos) order += mode;
    }
    std::string d;
    for (const char mode : order) {
      if (below(2) == 0) d += mode;
    }
    r.modes = a + "," + b + "->" + d;
    std::map<char, std::vector<std::int64_t>> sections;
    r.section_counts.clear();
    r.sections.clear();
    for (const char mode : order) {
      std::vector<std::int64_t>& of_mode = sections[mode];
      for (std::size_t n = 1 + below(3); n > 0; --n)
        of_mode.push_back(1 + static_cast<std::int64_t>(below(4)));
      r.section_counts.push_back(std::ssize(of_mode));
      r.sections.insert(r.sections.end(), of_mode.begin(), of_mode.end());
    }
    // Answers how many elements there are.
    const auto stored = [&](const std::string& modes, std::vector<std::int64_t>& listed) {
      std::set<std::vector<std::int64_t>> drawn;
      for (std::size_t n = modes.empty() ? 1 : below(4); n > 0; --n) {
        std::vector<std::int64_t> block;
        for (const char mode : modes)
          block.push_back(static_cast<std::int64_t>(below(sections[mode].size())));
        drawn.insert(block);
      }
      listed.clear();
      std::int64_t elements = 0;
      for (const std::vector<std::int64_t>& block : drawn) {
        std::int64_t of_block = 1;
        for (std::size_t i = 0; i < modes.size(); ++i)
          of_block *= sections[modes[i]][static_cast<std::size_t>(block[i])];
        elements += of_block;
        listed.insert(listed.end(), block.begin(), block.end());
      }
      return elements;
    };
    const auto packed = [&](std::int64_t elements) {
      const std::int64_t one = 1;
      return views_(type, shape{elements}, std::span(&one, 1), memory_space::device);
    };
    r.a = packed(stored(a, r.a_blocks));
    r.b = packed(stored(b, r.b_blocks));
    const std::int64_t of_d = stored(d, r.d_blocks);
    r.d = packed(of_d);
    r.c = any_tensor();
    if (!r.beta.is_zero()) r.c = below(3) == 0 ? r.d : packed(of_d);
  }
  void fill(tensors::permute& r) {
    r.a = whole(r.a.type());
    whole_result(r.d, r.d.type());
    r.modes = modes_;
  }
  void fill(tensors::unary& r) {
    simple(r.d.type(), {&r.op}, {});
    r.a = whole(r.d.type());
    whole_result(r.d, r.d.type());
    r.modes = modes_;
  }
  void fill(tensors::binary& r) {
    simple(r.d.type(), {&r.op_a, &r.op_c}, {&r.op});
    r.a = whole(r.d.type());
    r.c = whole(r.d.type());
    whole_result(r.d, r.d.type());
    r.modes = modes_;
  }
  void fill(tensors::trinary& r) {
    simple(r.d.type(), {&r.op_a, &r.op_b, &r.op_c}, {&r.op_ab, &r.op});
    r.a = whole(r.d.type());
    r.b = whole(r.d.type());
    r.c = whole(r.d.type());
    whole_result(r.d, r.d.type());
    r.modes = modes_;
  }

 private:
  static constexpr std::string_view letters = "abcxYZ";

  std::size_t below(std::size_t n) { return random_() % n; }
  any_tensor view(dtype type, std::string_view modes) {
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides(modes.size());
    for (const char mode : modes)
      extents.push_back(extents_[letters.find(mode)]);
    std::int64_t step = 1;
    for (std::size_t d = modes.size(); d-- > 0; step *= std::max<std::int64_t>(extents[d], 1))
      strides[d] = step;
    return views_(type, shape(std::span<const std::int64_t>(extents)), strides,
                  memory_space::device);
  }
  void list(std::string_view modes) {
    if (has_list_) modes_ += ',';
    has_list_ = true;
    modes_ += modes;
  }
  /// Some letters in any order.
  std::string each_once() {
    std::string modes(letters);
    std::ranges::shuffle(modes, random_);
    modes.resize(below(4));
    return modes;
  }
  any_tensor operand(dtype type, std::size_t most) {
    std::string modes;
    for (std::size_t n = below(most + 1); n > 0; --n)
      modes += letters[below(letters.size())];
    list(modes);
    all_ += modes;
    return view(type, modes);
  }
  void result(any_tensor& d, dtype type) {
    std::string modes;
    for (const char mode : all_) {
      if (modes.find(mode) == std::string::npos && below(2) == 0) modes += mode;
    }
    modes_ += "->" + modes;
    result_ = modes;
    d = view(type, modes);
  }
  template <class R>
  void addend(R& r) {
    r.c = any_tensor();
    if (!r.beta.is_zero()) r.c = below(3) == 0 ? r.d : view(r.d.type(), result_);
  }
  /// An operand of which nothing is summed.
  any_tensor whole(dtype type) {
    std::string modes(letters.substr(0, below(4)));
    std::ranges::reverse(modes);
    list(modes);
    return view(type, modes);
  }
  void whole_result(any_tensor& d, dtype type) {
    modes_ += "->abcx";
    d = view(type, "abcx");
  }
  static void simple(dtype type, std::initializer_list<tensors::unary_operator*> of_one,
                     std::initializer_list<tensors::binary_operator*> of_two) {
    if (!is_complex(type)) return;
    for (auto* const op : of_one)
      *op = tensors::unary_operator::conjugate;
    for (auto* const op : of_two)
      *op = tensors::binary_operator::multiply;
  }

  std::mt19937_64& random_;
  const view_source& views_;
  std::int64_t extents_[letters.size()]{};
  std::string modes_;
  std::string all_;
  std::string result_;
  bool has_list_ = false;
};

}  // namespace

bool draw_modes(const request_type& type, void* request, std::mt19937_64& random,
                const view_source& views) {
  return drawn_by<mode_drawing, tensors::contract, tensors::contract_blocks, tensors::einsum,
                  tensors::reduce, tensors::permute, tensors::unary, tensors::binary,
                  tensors::trinary>(type, request, random, views);
}

}  // namespace troupe::testing_requests
