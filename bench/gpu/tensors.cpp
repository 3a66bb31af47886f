// The cost of contractions of a transformer and of chemistry on a GPU: the cases of
// tensors_torch.py, which measures the same with torch.einsum. Requests are sent one behind the
// other, as layers send them.

#include "side_by_side.hpp"

#include <troupe/tensors.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct contraction {
  std::string modes;
  std::string extents;  ///< "b8 q1024"
  dtype type;
};

const contraction contractions[] = {
    {"bqhd,bkhd->bhqk", "b8 q1024 k1024 h16 d64", dtype::bf16},
    {"bhqk,bkhd->bqhd", "b8 q1024 k1024 h16 d64", dtype::bf16},
    {"bsd,dhe->bshe", "b8 s1024 d1024 h16 e64", dtype::bf16},
    {"bshe,hed->bsd", "b8 s1024 d1024 h16 e64", dtype::bf16},
    {"bsd,df->bsf", "b8 s1024 d1024 f4096", dtype::bf16},
    {"bsf,fd->bsd", "b8 s1024 d1024 f4096", dtype::bf16},
    {"bsd,bsf->df", "b8 s1024 d1024 f4096", dtype::bf16},
    {"ebd,edf->ebf", "e8 b512 d1024 f2048", dtype::bf16},
    {"bhd,bkhd->bhk", "b32 h16 k2048 d128", dtype::bf16},
    {"bhk,bkhd->bhd", "b32 h16 k2048 d128", dtype::bf16},
    {"pqrs,pi->iqrs", "p64 q64 r64 s64 i32", dtype::f64},
    {"iqrs,qj->ijrs", "i32 q64 r64 s64 j32", dtype::f64},
    {"ijrs,rk->ijks", "i32 j32 r64 s64 k32", dtype::f64},
    {"ijks,sl->ijkl", "i32 j32 k32 s64 l32", dtype::f64},
    {"ijab,klij->klab", "i24 j24 k24 l24 a64 b64", dtype::f32},
    {"ijcd,abcd->ijab", "i24 j24 a48 b48 c48 d48", dtype::f32},
    {"ikac,kjcb->ijab", "i24 j24 k24 a48 b48 c48", dtype::f32},
    {"xpq,xrs->pqrs", "x256 p40 q40 r40 s40", dtype::f32},
    {"ijab,ijab->", "i24 j24 a64 b64", dtype::f32},
    {"pqrs,pi,qj->ijrs", "p64 q64 r64 s64 i32 j32", dtype::f32},
};

// Permuted and summed operands; contractions that cross each other's memory, small ones among them.
const contraction others[] = {
    {"abcd->dcba", "a64 b64 c64 d64", dtype::f32},
    {"abcd->acbd", "a64 b64 c64 d64", dtype::f32},
    {"abcd->bdac", "a8 b1024 c16 d64", dtype::bf16},
    {"ij->ji", "i4096 j4096", dtype::f32},
    {"ij->ji", "i4096 j4096", dtype::f64},
    {"abcd->ad", "a64 b64 c64 d64", dtype::f32},
    {"abcd->bc", "a64 b64 c64 d64", dtype::f32},
    {"abcd->", "a64 b64 c64 d64", dtype::f32},
    {"abcd->abd", "a8 b1024 c16 d64", dtype::bf16},
    {"abcd,ecfd->eafb", "a16 b16 c24 d24 e16 f16", dtype::f32},
    {"abcd,cefd->afbe", "a16 b16 c24 d24 e16 f16", dtype::f64},
    {"abcd,ecfd->eafb", "a64 b32 c32 d32 e32 f64", dtype::bf16},
    {"akbl,ljki->aibj", "a6 k5 b7 l4 j8 i9", dtype::f32},
    {"akbl,ljki->aibj", "a40 k20 b30 l20 j30 i20", dtype::f32},
};

std::map<char, std::int64_t> extents_of(const std::string& text) {
  std::map<char, std::int64_t> made;
  for (std::size_t at = 0; at < text.size(); at = text.find_first_not_of("0123456789 ", at + 1))
    made[text[at]] = std::stoll(text.substr(at + 1));
  return made;
}

class bench_run {
 public:
  bench_run(report& out, const device& gpu) : out_(out), gpu_(gpu), lane_(gpu.library("tensors")) {}

  void measure(const contraction& c) {
    const auto extents = extents_of(c.extents);
    const auto make = [&](const std::string& modes) {
      std::vector<std::int64_t> size;
      for (const char mode : modes)
        size.push_back(extents.at(mode));
      return gpu_.allocate(c.type, shape(std::span<const std::int64_t>(size))).value();
    };
    const std::size_t arrow = c.modes.find("->");
    tensors::einsum r{.modes = c.modes, .d = make(c.modes.substr(arrow + 2))};
    for (std::size_t at = 0; at < arrow;) {
      const std::size_t end = std::min(c.modes.find(',', at), arrow);
      r.operands.push_back(make(c.modes.substr(at, end - at)));
      at = end + 1;
    }
    constexpr std::size_t at_once = 20;
    const auto run = [&] { pipeline(at_once, at_once, [&](std::size_t) { return lane_.ask(r); }); };
    // Functions are compiled meanwhile, which takes up to 150 ms.
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500))
      run();
    samples times;
    times.take(10, run);
    out_.add({c.modes + ", " + std::string(to_string(c.type)),
              times.median() / static_cast<double>(at_once), "us"});
  }

 private:
  report& out_;
  device gpu_;
  library_actor lane_;
};

}  // namespace

int main() {
  report out("tensors: contractions on a GPU");
  troupe::system system;
  const device gpu = system.device(0);
  wait_until_settled(gpu, true);
  bench_run all(out, gpu);
  for (const contraction& c : contractions)
    section(out, c.modes, [&] { all.measure(c); });
  for (const contraction& c : others)
    section(out, c.modes, [&] { all.measure(c); });
  return out.finish();
}
