// Compiles for real where NVRTC is found, which needs no GPU.

#include "unit/jit/jit_sources.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace troupe::jit {
namespace {

using testing_jit::compiler_test;
using testing_jit::templated_source;

bool begins_like_an_image(const binary& made) {
  return made.image.size() > 4 && std::memcmp(made.image.data(),
                                              "\x7f"
                                              "ELF",
                                              4) == 0;
}

std::string text_of(const binary& made) {
  return {reinterpret_cast<const char*>(made.image.data()), made.image.size()};
}

using JitCompiler = compiler_test;

TEST_F(JitCompiler, MakesMachineCodeOfASource) {
  const binary made =
      compile({.text = "extern \"C\" __global__ void nothing() {}", .architecture = "sm_90a"})
          .get();
  EXPECT_TRUE(begins_like_an_image(made));
  EXPECT_EQ(made.kind, image_kind::cubin);
  EXPECT_EQ(made.architecture, "sm_90a");
  EXPECT_EQ(made.from, origin::compiled);
  EXPECT_NE(text_of(made).find("nothing"), std::string::npos);
}

TEST_F(JitCompiler, MakesPtxOfTheVirtualArchitecture) {
  const binary made = compile({.text = "extern \"C\" __global__ void nothing() {}",
                               .architecture = "sm_90a",
                               .output = image_kind::ptx})
                          .get();
  EXPECT_NE(text_of(made).find(".target sm_90a"), std::string::npos) << text_of(made);
  EXPECT_NE(text_of(made).find(".entry nothing"), std::string::npos);
}

TEST_F(JitCompiler, NamesInstantiationsByExpressions) {
  const binary made = compile(templated_source()).get();
  ASSERT_EQ(made.names.size(), 2u);
  EXPECT_EQ(made.names[0].expression, "add<float>");
  EXPECT_EQ(made.names[0].lowered, "_Z3addIfEvPKT_S2_PS0_i");
  EXPECT_EQ(made.names[1].expression, "&inner::scaled<double, 3>");
  EXPECT_NE(text_of(made).find(made.names[1].lowered), std::string::npos);
}

TEST_F(JitCompiler, FindsHeadersThatAreInMemoryAlone) {
  const binary made =
      compile(
          {.text = "#include \"lib/twice.cuh\"\n#include <three.cuh>\n"
                   "extern \"C\" __global__ void k(float* x) { *x = twice(*x) + three; }",
           .headers = {{.name = "lib/twice.cuh",
                        .text = "#pragma once\n#include \"three.cuh\"\n"
                                "__device__ float twice(float x) { return 2 * x + 0 * three; }"},
                       {.name = "three.cuh", .text = "#pragma once\n#define three 3\n"}},
           .architecture = "sm_90"})
          .get();
  EXPECT_TRUE(begins_like_an_image(made));
}

TEST_F(JitCompiler, DoesNotLookForHeadersWhereTheProgramRuns) {
  std::ofstream("beside_the_program.cuh") << "#define value 1\n";
  for (const bool with_toolkit : {false, true}) {
    const auto made = compile({.text = "#include \"beside_the_program.cuh\"\n"
                                       "extern \"C\" __global__ void k(int* x) { *x = value; }",
                               .architecture = "sm_90",
                               .toolkit_headers = with_toolkit})
                          .get_result();
    ASSERT_FALSE(made) << "with_toolkit: " << with_toolkit;
    if (made.error().code == errc::library_missing) continue;
    EXPECT_NE(made.error().message.find("open source file"), std::string::npos)
        << made.error().message;
  }
  std::filesystem::remove("beside_the_program.cuh");
}

TEST_F(JitCompiler, LetsASourceIncludeTheToolkit) {
  const auto made = compile({.text = "#include <cooperative_groups.h>\n#include <cuda_fp16.h>\n"
                                     "#include <cuda/barrier>\n"
                                     "extern \"C\" __global__ void k(__half* x) {\n"
                                     "  cooperative_groups::this_grid().sync();\n"
                                     "  x[threadIdx.x] = __float2half(1.f);\n}",
                             .options = {"--std=c++20"},
                             .architecture = "sm_90a",
                             .toolkit_headers = true})
                        .get_result();
  if (!made && made.error().code == errc::library_missing) GTEST_SKIP() << made.error().message;
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_TRUE(begins_like_an_image(*made));
}

TEST_F(JitCompiler, AnswersTheLogWithWhatItHasMade) {
  const binary made =
      compile({.text = "extern \"C\" __global__ void k(float* x) { int unused = 3; *x = 1; }",
               .name = "noisy.cu",
               .architecture = "sm_90"})
          .get();
  EXPECT_NE(made.log.find("noisy.cu(1): warning"), std::string::npos) << made.log;
  EXPECT_NE(made.log.find("unused"), std::string::npos) << made.log;
}

TEST_F(JitCompiler, PutsTheWholeLogIntoTheError) {
  std::string text;
  constexpr int mistakes = 60;
  for (int i = 0; i < mistakes; ++i)
    text += "__device__ int f" + std::to_string(i) + "() { return mistake_" + std::to_string(i) +
            "; }\n";
  const auto made =
      compile({.text = text, .name = "wrong.cu", .architecture = "sm_90"}).get_result();
  ASSERT_FALSE(made);
  const error& why = made.error();
  EXPECT_EQ(why.code, errc::library_error);
  EXPECT_EQ(why.library, "nvrtc");
  EXPECT_EQ(why.call, "nvrtcCompileProgram");
  EXPECT_EQ(why.code_name, "NVRTC_ERROR_COMPILATION");
  EXPECT_EQ(why.vendor_code, 6);
  for (const int i : {0, mistakes / 2, mistakes - 1})
    EXPECT_NE(why.message.find("mistake_" + std::to_string(i) + "\" is undefined"),
              std::string::npos);
}

TEST_F(JitCompiler, SaysWhichNameExpressionIsNone) {
  const auto made = compile({.text = "template <class T> __global__ void k(T*) {}",
                             .names = {"k<float>", "missing<int>"},
                             .architecture = "sm_90"})
                        .get_result();
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("missing"), std::string::npos) << made.error().message;
}

TEST_F(JitCompiler, LinksPiecesWithEachOther) {
  const binary one = compile({.text = "extern __device__ float half_of(float);\n"
                                      "template <class T> __global__ void k(T* x) {\n"
                                      "  x[0] = half_of(x[0]);\n}",
                              .names = {"k<float>"},
                              .architecture = "sm_90a",
                              .output = image_kind::lto_ir})
                         .get();
  const binary other = compile({.text = "__device__ float half_of(float x) { return x / 2; }",
                                .architecture = "sm_90a",
                                .output = image_kind::lto_ir})
                           .get();
  const auto linked = link({.pieces = {one, other}, .architecture = "sm_90a"}).get_result();
  if (!linked && linked.error().code == errc::library_missing) {
    GTEST_SKIP() << linked.error().message;
  }
  ASSERT_TRUE(linked) << linked.error().to_string();
  EXPECT_TRUE(begins_like_an_image(*linked));
  ASSERT_EQ(linked->names.size(), 1u);
  EXPECT_NE(text_of(*linked).find(linked->names[0].lowered), std::string::npos);

  const binary as_text =
      link({.pieces = {one, other}, .architecture = "sm_90a", .output = image_kind::ptx}).get();
  EXPECT_NE(text_of(as_text).find(".entry " + one.names[0].lowered), std::string::npos);

  const auto alone = link({.pieces = {one}, .architecture = "sm_90a"}).get_result();
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().library, "nvjitlink");
  EXPECT_NE(alone.error().message.find("half_of"), std::string::npos) << alone.error().to_string();
}

TEST_F(JitCompiler, RefusesWhatNeedsNoCompilerToBeRefused) {
  const auto refused = [&](source what, std::string_view words) {
    const auto made = compile(std::move(what)).get_result();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, errc::invalid_argument);
    EXPECT_NE(made.error().message.find(words), std::string::npos) << made.error().message;
  };
  refused({.text = ""}, "architecture is \"\"");
  refused({.text = "", .architecture = "compute_90"}, "architecture is \"compute_90\"");
  refused({.text = "", .architecture = "sm_90ab"}, "architecture is \"sm_90ab\"");
  refused({.text = std::string("a\0b", 3), .architecture = "sm_90"}, "NUL");
  refused({.headers = {{"a", ""}, {"a", ""}}, .architecture = "sm_90"}, "header a is given twice");
  refused({.options = {"-arch=sm_80"}, .architecture = "sm_90"}, "-arch=sm_80");
  refused({.names = {""}, .architecture = "sm_90"}, "a name expression is empty");
  refused({.architecture = "sm_90", .output = image_kind::fatbin}, "fatbin");
  const auto nothing = link({.architecture = "sm_90"}).get_result();
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message.find("no pieces"), std::string::npos);
}

TEST_F(JitCompiler, KeepsWhatItHasMadeInMemoryAndOnDisk) {
  EXPECT_EQ(compile(templated_source()).get().from, origin::compiled);
  const binary again = compile(templated_source()).get();
  EXPECT_EQ(again.from, origin::memory_cache);
  compiler other(config());
  const binary later = other.compile(templated_source()).get();
  EXPECT_EQ(later.from, origin::disk_cache);
  EXPECT_EQ(later.image, again.image);
  EXPECT_EQ(later.log, again.log);
  ASSERT_EQ(later.names.size(), 2u);
  EXPECT_EQ(later.names[1].lowered, again.names[1].lowered);
  EXPECT_EQ(other.statistics().disk_hits, 1u);
  EXPECT_EQ(other.statistics().compiled, 0u);
}

TEST_F(JitCompiler, TakesEverythingThatMattersForAnotherEntry) {
  EXPECT_EQ(compile(templated_source()).get().from, origin::compiled);
  const auto changed = [&](auto&& change) {
    source other = templated_source();
    change(other);
    EXPECT_EQ(compile(other).get().from, origin::compiled);
    EXPECT_EQ(compile(other).get().from, origin::memory_cache);
  };
  changed([](source& s) { s.text += "\n"; });
  changed([](source& s) { s.name = "other.cu"; });
  changed([](source& s) { s.options = {"--use_fast_math"}; });
  changed([](source& s) { s.names.pop_back(); });
  changed([](source& s) { s.architecture = "sm_90"; });
  changed([](source& s) { s.output = image_kind::ptx; });
  changed([](source& s) { s.headers = {{"unused.h", "1"}}; });
  changed([](source& s) { s.headers = {{"unused.h", "2"}}; });
  source reordered = templated_source();
  reordered.headers = {{"b.h", ""}, {"a.h", ""}};
  EXPECT_EQ(compile(reordered).get().from, origin::compiled);
  std::swap(reordered.headers[0], reordered.headers[1]);
  EXPECT_EQ(compile(reordered).get().from, origin::memory_cache);
}

TEST_F(JitCompiler, NeverKeepsWhatDependsOnFiles) {
  source what = templated_source();
  what.options = {"-I/tmp"};
  EXPECT_EQ(compile(what).get().from, origin::compiled);
  EXPECT_EQ(compile(what).get().from, origin::compiled);
}

TEST_F(JitCompiler, CompilesADamagedEntryAgain) {
  const binary first = compile(templated_source()).get();
  ASSERT_EQ(entries().size(), 1u);
  const auto file = entries().front();
  const auto size = std::filesystem::file_size(file);
  std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(static_cast<std::streamoff>(size / 2));
  const char before = static_cast<char>(damaged.peek());
  damaged.put(static_cast<char>(before ^ 1));
  damaged.close();

  compiler other(config());
  const binary again = other.compile(templated_source()).get();
  EXPECT_EQ(again.from, origin::compiled);
  EXPECT_EQ(again.image, first.image);
  EXPECT_EQ(other.statistics().damaged_entries, 1u);
  compiler third(config());
  EXPECT_EQ(third.compile(templated_source()).get().from, origin::disk_cache);
}

TEST_F(JitCompiler, CompilesSeveralAtOnce) {
  std::vector<future<binary>> all;
  all.reserve(4);
  for (int i = 0; i < 4; ++i)
    all.push_back(compile({.text = "extern \"C\" __global__ void k" + std::to_string(i) + "() {}",
                           .architecture = "sm_90"}));
  for (auto& one : all)
    EXPECT_TRUE(begins_like_an_image(one.get()));
  EXPECT_EQ(statistics().compiled, 4u);
}

}  // namespace
}  // namespace troupe::jit
