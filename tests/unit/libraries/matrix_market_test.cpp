#include <troupe/sparse/matrix_market.hpp>
#include <troupe/sparse/products.hpp>
#include <troupe/troupe.hpp>

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>

namespace troupe::sparse {
namespace {

using value = std::complex<double>;

result<coordinates> read(const std::string& text) {
  std::istringstream from(text);
  return read_matrix_market(from);
}

struct element {
  std::int64_t row;
  std::int64_t column;
  value v;
};
void expect(const coordinates& found, std::int64_t rows, std::int64_t columns,
            const std::vector<element>& elements) {
  EXPECT_EQ(found.rows, rows);
  EXPECT_EQ(found.columns, columns);
  ASSERT_EQ(found.values.size(), elements.size());
  for (std::size_t k = 0; k < elements.size(); ++k) {
    EXPECT_EQ(found.row_indices[k], elements[k].row) << k;
    EXPECT_EQ(found.column_indices[k], elements[k].column) << k;
    EXPECT_EQ(found.values[k], elements[k].v) << k;
  }
}

TEST(MatrixMarket, ReadsEveryKind) {
  expect(read("%%MatrixMarket matrix coordinate real general\n% a comment\n\n2 3 2\n1 3 1.5e2\n"
              "2 1 -4\n")
             .value(),
         2, 3, {{0, 2, 150}, {1, 0, -4}});
  expect(read("%%MatrixMarket MATRIX Coordinate Integer symmetric\n3 3 2\n2 1 7\n3 3 +1\n").value(),
         3, 3, {{1, 0, 7}, {0, 1, 7}, {2, 2, 1}});
  expect(read("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 7\n").value(), 2, 2,
         {{1, 0, 7}, {0, 1, -7}});
  expect(read("%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 7 2\r\n").value(), 2,
         2, {{1, 0, value(7, 2)}, {0, 1, value(7, -2)}});
  expect(read("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n").value(), 2, 2,
         {{1, 0, 1}});
  expect(read("%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4\n").value(), 2, 2,
         {{0, 0, 1}, {0, 1, 3}, {1, 1, 4}});
  expect(read("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n4\n").value(), 2, 2,
         {{0, 0, 1}, {1, 0, 2}, {0, 1, 2}, {1, 1, 4}});
  expect(read("%%MatrixMarket matrix coordinate real general\n0 0 0\n").value(), 0, 0, {});
}

TEST(MatrixMarket, SaysWhichLineIsWrong) {
  const auto refused = [](const std::string& text, const std::string& message) {
    const auto found = read(text);
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().code, errc::invalid_argument);
    EXPECT_EQ(found.error().message, "Matrix Market file, " + message);
  };
  const std::string general = "%%MatrixMarket matrix coordinate real general\n";
  refused("", "line 1: no header of a matrix");
  refused("%%MatrixMarket vector array real general\n", "line 1: no header of a matrix");
  refused("%%MatrixMarket matrix array pattern general\n", "line 1: no header of a matrix");
  refused(general, "line 2: the file ends before its sizes");
  refused(general + "2 x 3\n", "line 2: these are no sizes");
  refused(general + "2 2 -1\n", "line 2: these are no sizes");
  refused(general + "2 2 1\n", "line 3: the file ends before its last element");
  refused(general + "2 2 1\n3 1 4\n", "line 3: element (3, 1) is outside [2, 2]");
  refused(general + "2 2 1\n0 1 4\n", "line 3: element (0, 1) is outside [2, 2]");
  refused(general + "2 2 1\n1 1\n", "line 3: this is no element");
  refused(general + "2 2 1\n1 1 4 5\n", "line 3: this is no element");
  refused(general + "2 2 1\n1 1 4\n1 2 4\n", "line 4: more lines than elements");
  refused("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
          "line 2: a matrix with a symmetry is square");
  refused("%%MatrixMarket matrix array real general\n1 1\nx\n", "line 3: this is no value");
  EXPECT_FALSE(read_matrix_market(std::filesystem::path("/no/such/file")));
}

TEST(MatrixMarket, ReadsWhatItHasWritten) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const bool is_complex : {false, true}) {
    coordinates a;
    a.rows = 30;
    a.columns = 20;
    a.is_complex = is_complex;
    for (int k = 0; k < 100; ++k) {
      a.row_indices.push_back(static_cast<std::int64_t>(random() % 30));
      a.column_indices.push_back(static_cast<std::int64_t>(random() % 20));
      const double real = normal(random);
      a.values.emplace_back(real, is_complex ? normal(random) : 0);
    }
    std::ostringstream to;
    ASSERT_TRUE(write_matrix_market(a, to));
    EXPECT_EQ(read(to.str()).value(), a);
  }
  const coordinates wrong{
      .rows = 1, .columns = 1, .row_indices = {1}, .column_indices = {0}, .values = {1}};
  std::ostringstream to;
  const auto written = write_matrix_market(wrong, to);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "element 0, (1, 0), is outside [1, 1]");
}

TEST(MatrixMarket, ComesToADevice) {
  system system;
  device device = system.device(0);
  const coordinates a{.rows = 3,
                      .columns = 2,
                      .row_indices = {2, 0, 2},
                      .column_indices = {1, 1, 0},
                      .values = {5, 7, 3}};
  for (const dtype index : {dtype::i32, dtype::i64}) {
    const sparse_matrix there = to_device(device, a, dtype::f32, index).value();
    EXPECT_EQ(there.index_type(), index);
    auto x = device.tensor<float>({2}).value();
    auto y = device.tensor<float>({3}).value();
    const std::vector<float> ones{1, 10};
    std::vector<float> found(3);
    device.copy(std::span(ones), x).get();
    device.ask(spmv{.a = there, .x = x, .y = y}).get();
    device.copy(y, std::span(found)).get();
    EXPECT_EQ(found, (std::vector<float>{70, 0, 53}));
  }
  const auto refused = to_device(device, a, dtype::i8);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no sparse matrix has values of i8");
}

}  // namespace
}  // namespace troupe::sparse
