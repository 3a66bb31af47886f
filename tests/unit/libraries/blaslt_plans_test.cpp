#include "libraries/blaslt/cuda/plan_key.hpp"
#include "libraries/blaslt/cuda/tuned_choices.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

using blaslt::matmul;

any_tensor tensor(dtype type, std::vector<std::int64_t> size, std::vector<std::int64_t> strides,
                  std::uintptr_t address = 0x1000) {
  // Never looked at, but for what it is a multiple of.
  return any_tensor::unowned(reinterpret_cast<std::byte*>(address), type, shape(std::span(size)),
                             strides);
}
any_tensor row_major(dtype type, std::int64_t rows, std::int64_t columns) {
  return tensor(type, {rows, columns}, {columns, 1});
}

matmul_key key_of(const matmul& r) { return cuda::key_of(sides(r)); }

/// fp8 with all that can be given.
matmul full_request() {
  const auto factor = [] { return tensor(dtype::f32, {1}, {1}); };
  return {.a = row_major(dtype::e4m3, 32, 64),
          .b = row_major(dtype::e4m3, 48, 64).transpose(),
          .c = row_major(dtype::f16, 32, 48),
          .d = row_major(dtype::e4m3, 32, 48),
          .beta = 1,
          .epilogue = blaslt::epilogue::gelu_aux_bias,
          .bias = tensor(dtype::f16, {48}, {1}),
          .aux = row_major(dtype::f16, 32, 48),
          .scale_a = factor(),
          .scale_b = factor(),
          .scale_c = factor(),
          .scale_d = factor(),
          .amax_d = factor()};
}

TEST(BlasltPlanKey, TellsApartAllThatAChoiceDependsOn) {
  const std::vector<std::function<void(matmul&)>> changes{
      [](matmul&) {},
      [](matmul& r) { r.a = row_major(dtype::e5m2, 32, 64); },
      [](matmul& r) { r.b = row_major(dtype::e5m2, 48, 64).transpose(); },
      [](matmul& r) {
        r.c = row_major(dtype::bf16, 32, 48), r.bias = tensor(dtype::bf16, {48}, {1});
      },
      [](matmul& r) { r.d = row_major(dtype::f16, 32, 48); },
      [](matmul& r) { r.aux = row_major(dtype::bf16, 32, 48); },
      [](matmul& r) { r.a = tensor(dtype::e4m3, {32, 64}, {80, 1}); },
      [](matmul& r) { r.b = tensor(dtype::e4m3, {64, 48}, {1, 80}); },
      [](matmul& r) { r.c = tensor(dtype::f16, {32, 48}, {64, 1}); },
      [](matmul& r) { r.d = tensor(dtype::e4m3, {32, 48}, {64, 1}); },
      [](matmul& r) { r.aux = tensor(dtype::f16, {32, 48}, {64, 1}); },
      [](matmul& r) { r.a = row_major(dtype::e4m3, 64, 32).transpose(); },
      [](matmul& r) { r.epilogue = blaslt::epilogue::gelu_bias, r.aux = {}; },
      [](matmul& r) { r.epilogue = blaslt::epilogue::gelu_aux, r.bias = {}; },
      [](matmul& r) { r.scale_a = {}; },
      [](matmul& r) { r.scale_b = {}; },
      [](matmul& r) { r.scale_c = {}; },
      [](matmul& r) { r.scale_d = {}; },
      [](matmul& r) { r.amax_d = {}; },
      [](matmul& r) { r.scaling_a = blaslt::scaling::block_128; },
      [](matmul& r) { r.scaling_b = blaslt::scaling::block_128; },
      [](matmul& r) { r.math = blas::math_mode::tf32; },
      [](matmul& r) { r.fast_accumulation = true; },
      [](matmul& r) { r.op_a = blas::op::conjugate; },
      [](matmul& r) { r.op_b = blas::op::conjugate; },
      [](matmul& r) { r.c = {}, r.beta = 0; },
      [](matmul& r) { r.tuning = blaslt::tuning::timed; },
      [](matmul& r) { r.tuning = blaslt::tuning::timed, r.candidates = 3; },
      [](matmul& r) { r.a = tensor(dtype::e4m3, {32, 64}, {64, 1}, 0x1010); },
      [](matmul& r) { r.b = tensor(dtype::e4m3, {64, 48}, {1, 64}, 0x1010); },
      [](matmul& r) { r.c = tensor(dtype::f16, {32, 48}, {48, 1}, 0x1010); },
      [](matmul& r) { r.d = tensor(dtype::e4m3, {32, 48}, {48, 1}, 0x1008); },
      [](matmul& r) { r.bias = tensor(dtype::f16, {48}, {1}, 0x1010); },
      [](matmul& r) { r.aux = tensor(dtype::e4m3, {32, 48}, {48, 1}, 0x1010); },
  };
  std::vector<matmul_key> keys;
  for (const auto& change : changes) {
    matmul r = full_request();
    change(r);
    keys.push_back(key_of(r));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < keys.size(); ++j)
      EXPECT_EQ(keys[i] == keys[j], i == j) << i << " and " << j;
  }
}

TEST(BlasltPlanKey, TellsExtentsBatchesAndDistancesApart) {
  const auto batch = [](std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k,
                        std::int64_t distance) {
    return key_of({.a = tensor(dtype::f32, {count, m, k}, {distance, k, 1}),
                   .b = tensor(dtype::f32, {count, k, n}, {0, n, 1}),
                   .d = tensor(dtype::f32, {count, m, n}, {m * n, n, 1})});
  };
  const std::vector<matmul_key> keys{batch(2, 4, 5, 6, 24), batch(3, 4, 5, 6, 24),
                                     batch(2, 7, 5, 6, 24), batch(2, 4, 8, 6, 24),
                                     batch(2, 4, 5, 9, 24), batch(2, 4, 5, 6, 30)};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < keys.size(); ++j)
      EXPECT_EQ(keys[i] == keys[j], i == j) << i << " and " << j;
  }
}

TEST(BlasltPlanKey, IsTheSameWhereNothingElseMatters) {
  const matmul r = full_request();
  matmul other = full_request();
  other.alpha = 3;
  other.beta = -1;
  other.a = tensor(dtype::e4m3, {32, 64}, {64, 1}, 0x7000);  // as aligned as the other
  other.candidates = 5;                                      // of no meaning without measuring
  EXPECT_EQ(key_of(r), key_of(other));
  // The same product, transposed as a whole.
  const auto plain = [](const any_tensor& a, const any_tensor& b, const any_tensor& d) {
    return key_of({.a = a, .b = b, .d = d});
  };
  const any_tensor a = row_major(dtype::f32, 7, 5);
  const any_tensor b = row_major(dtype::f32, 5, 9);
  const any_tensor d = row_major(dtype::f32, 7, 9);
  EXPECT_EQ(plain(a, b, d), plain(b.transpose(), a.transpose(), d.transpose()));
}

/// That of x · x + x in f16, by 2 x 2, twice: x's matrices lie 24 bytes apart, d's rows 10.
TEST(BlasltAlignment, IsThatOfEveryColumnOfEveryProduct) {
  const any_tensor x = tensor(dtype::f16, {2, 2, 2}, {12, 4, 1});
  const matmul r{.a = x, .b = x, .c = x, .d = tensor(dtype::f16, {2, 2, 2}, {40, 5, 1}), .beta = 1};
  const sides s(r);
  const sides::matrices is = s.stored();
  EXPECT_EQ(is.left.alignment, 8);
  EXPECT_EQ(is.right.alignment, 8);
  EXPECT_EQ(is.c.alignment, 8);
  EXPECT_EQ(is.d.alignment, 2);
}

TEST(BlasltAlignment, IsOfAddressLeadingDimensionAndDistance) {
  const auto of_a = [](dtype type, std::vector<std::int64_t> strides,
                       std::uintptr_t address = 0x1000) {
    const matmul r{.a = tensor(type, {3, 2, 32}, std::move(strides), address),
                   .b = tensor(type, {3, 32, 16}, {512, 1, 32}),
                   .d = tensor(type, {3, 2, 16}, {32, 16, 1})};
    const sides s(r);
    EXPECT_TRUE(s.product.swapped);
    return s.stored().right.alignment;
  };
  EXPECT_EQ(of_a(dtype::f32, {64, 32, 1}), 128);
  EXPECT_EQ(of_a(dtype::f32, {256, 64, 1}), 256);
  EXPECT_EQ(of_a(dtype::f32, {256, 64, 1}, 0x1004), 4);
  EXPECT_EQ(of_a(dtype::f32, {256, 34, 1}), 8);
  EXPECT_EQ(of_a(dtype::f32, {67, 32, 1}), 4);
  EXPECT_EQ(of_a(dtype::f32, {0, 64, 1}), 256);  // one for the whole batch
  EXPECT_EQ(of_a(dtype::e4m3, {128, 48, 1}), 16);
}

// Rows of 108 bytes begin at multiples of 4, whatever the first address.
TEST(MatrixAlignment, IsOfAddressAndColumns) {
  const auto of = [](std::uintptr_t first, std::int64_t columns, std::int64_t ld) {
    return lt_matrix(reinterpret_cast<const void*>(first), dtype::f16, 6, columns, ld).alignment;
  };
  EXPECT_EQ(of(0x1000, 42, 54), 4);
  EXPECT_EQ(of(0x1000, 42, 72), 16);
  EXPECT_EQ(of(0x1000, 1, 54), 256);
  EXPECT_EQ(of(0x1002, 42, 72), 2);
  EXPECT_EQ(lt_matrix(nullptr, dtype::f16, 1, 42, 1).alignment, 256);
}

// A stride that leads nowhere says nothing: a kernel is not refused for it.
TEST(BlasltAlignment, DoesNotDependOnStridesThatAreNotTaken) {
  const matmul r{.a = tensor(dtype::f16, {1, 1, 64}, {3, 5, 1}),
                 .b = tensor(dtype::f16, {1, 64, 128}, {7, 128, 1}),
                 .d = tensor(dtype::f16, {1, 1, 128}, {9, 129, 1})};
  const sides s(r);
  const sides::matrices is = s.stored();
  EXPECT_EQ(is.left.alignment, 256);
  EXPECT_EQ(is.right.alignment, 256);
  EXPECT_EQ(is.d.alignment, 256);
  EXPECT_EQ(is.c.alignment, is.d.alignment);
}

// Choices on disk. --------------------------------------------------------------------------------

class TunedChoices : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (std::filesystem::temp_directory_path() / "troupe-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    base_ = made;
    folder_ = base_ / "some" / "matmuls";
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  [[nodiscard]] tuned_choices open(const std::string& identity = "library 1") const {
    return tuned_choices::open(folder_, identity).value();
  }
  [[nodiscard]] std::filesystem::path the_file() const {
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
    return std::filesystem::directory_iterator(folder_)->path();
  }
  static matmul_key key(std::int64_t number) {
    matmul_key made;
    made.add(number);
    return made;
  }

  std::filesystem::path base_;
  std::filesystem::path folder_;
};

constexpr tuned_choices::choice some_choice{1, 2, 3, 4, 5, 6, 7, 8};
constexpr tuned_choices::choice other{8, 7, 6, 5, 4, 3, 2, 1};

TEST_F(TunedChoices, AreThereForWhoComesNext) {
  tuned_choices first = open();
  EXPECT_EQ(first.find(key(1)), nullptr);
  first.keep(key(1), some_choice);
  first.keep(key(2), other);
  const tuned_choices next = open();
  ASSERT_NE(next.find(key(1)), nullptr);
  EXPECT_EQ(*next.find(key(1)), some_choice);
  EXPECT_EQ(*next.find(key(2)), other);
  EXPECT_EQ(next.find(key(3)), nullptr);
}

TEST_F(TunedChoices, LieInAFolderOfTheUsersAlone) {
  tuned_choices made = open();
  made.keep(key(1), some_choice);
  struct stat is{};
  ASSERT_EQ(::stat(folder_.c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(the_file().c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777U, 0600U);
}

TEST_F(TunedChoices, AreNotReadFromAFolderThatOthersMayEnter) {
  open().keep(key(1), some_choice);
  std::filesystem::permissions(folder_, std::filesystem::perms(0750));
  const auto refused = tuned_choices::open(folder_, "library 1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_NE(refused.error().message.find("with rights 0750"), std::string::npos)
      << refused.error().message;
  std::filesystem::permissions(folder_, std::filesystem::perms(0700));
  std::filesystem::rename(folder_, base_ / "elsewhere");
  std::filesystem::create_directory_symlink(base_ / "elsewhere", folder_);
  EXPECT_FALSE(tuned_choices::open(folder_, "library 1"));
}

TEST_F(TunedChoices, AreForOneLibraryDriverAndDevice) {
  open("library 1").keep(key(1), some_choice);
  EXPECT_EQ(open("library 2").find(key(1)), nullptr);
  EXPECT_NE(open("library 1").find(key(1)), nullptr);
  // Though it came under the name of the other.
  const auto file = the_file();
  open("library 2").keep(key(2), some_choice);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path() != file) {
      std::filesystem::copy_file(file, entry.path(),
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
  EXPECT_EQ(open("library 2").find(key(1)), nullptr);
}

TEST_F(TunedChoices, OfSeveralProgramsAddUp) {
  tuned_choices first = open();
  tuned_choices second = open();
  first.keep(key(1), some_choice);
  second.keep(key(2), other);
  const tuned_choices next = open();
  EXPECT_NE(next.find(key(1)), nullptr);
  EXPECT_NE(next.find(key(2)), nullptr);
}

// As of a program that is stopped, or a server of files that has gone.
TEST_F(TunedChoices, AreKeptInMemoryWhileAnotherHoldsTheFolder) {
  tuned_choices made = open();
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(folder, LOCK_EX), 0);
  made.keep(key(1), some_choice);
  EXPECT_NE(made.find(key(1)), nullptr);
  EXPECT_EQ(open().find(key(1)), nullptr);
  ::close(folder);
  made.keep(key(2), other);
  EXPECT_NE(open().find(key(1)), nullptr);
  EXPECT_NE(open().find(key(2)), nullptr);
}

// As of a worker that was killed while it wrote.
TEST_F(TunedChoices, RemoveWhatAnotherDidNotFinish) {
  tuned_choices made = open();
  made.keep(key(1), some_choice);
  const auto file = the_file();
  const std::string unfinished = ".1-0-2.3";
  ASSERT_TRUE(os::private_folder::is_unfinished(unfinished));
  std::ofstream(folder_ / unfinished) << "half of it";
  made.keep(key(2), other);
  EXPECT_EQ(the_file(), file);
  EXPECT_NE(open().find(key(2)), nullptr);
}

TEST_F(TunedChoices, DoNotCountWhereTheyAreDamaged) {
  tuned_choices made = open();
  for (std::int64_t i = 0; i < 4; ++i)
    made.keep(key(i), some_choice);
  const auto file = the_file();
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
  for (std::streamoff at = 0; at < size; at += 61) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(at);
    const int before = bytes.get();
    bytes.seekp(at);
    bytes.put(static_cast<char>(before ^ 0x41));
    bytes.close();
    const tuned_choices damaged = open();
    int found = 0;
    for (std::int64_t i = 0; i < 4; ++i) {
      if (damaged.find(key(i)) == nullptr) continue;
      EXPECT_EQ(*damaged.find(key(i)), some_choice);
      ++found;
    }
    EXPECT_EQ(found, at < 512 ? 0 : 3) << "byte " << at;
    std::fstream again(file, std::ios::in | std::ios::out | std::ios::binary);
    again.seekp(at);
    again.put(static_cast<char>(before));
  }
  // Cut off anywhere, what is whole counts.
  std::filesystem::resize_file(file, static_cast<std::uintmax_t>(size) - 10);
  const tuned_choices shorter = open();
  int found = 0;
  for (std::int64_t i = 0; i < 4; ++i)
    found += shorter.find(key(i)) != nullptr ? 1 : 0;
  EXPECT_EQ(found, 3);
}

TEST_F(TunedChoices, StayInMemoryWithoutAFolder) {
  tuned_choices made;
  made.keep(key(1), some_choice);
  ASSERT_NE(made.find(key(1)), nullptr);
  EXPECT_EQ(*made.find(key(1)), some_choice);
}

}  // namespace
}  // namespace troupe::cuda
