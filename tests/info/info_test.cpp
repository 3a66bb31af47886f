#include "run_program.hpp"
#include "under_sanitizers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;

using troupe::test::has;
using troupe::test::outcome;

outcome run(const std::string& environment, const std::string& arguments) {
  return troupe::test::run_program(environment + " " TROUPE_PROGRAM " " + arguments);
}

/// On a machine with GPUs these are hidden, so that the tests mean the same everywhere.
outcome info(const std::string& environment = "") {
  return run("env CUDA_VISIBLE_DEVICES= " + environment, "info");
}

/// The lines from the one that begins with `first` up to the next empty one.
std::string part(const outcome& got, const std::string& first) {
  const std::size_t begin = got.text.find("\n" + first);
  if (begin == std::string::npos) return {};
  return got.text.substr(begin, got.text.find("\n\n", begin + 1) - begin);
}

TEST(Info, NamesTheCpuBackendAndWhyThereIsNoCudaDevice) {
  const outcome got = info();
  EXPECT_EQ(got.status, 0);
  EXPECT_TRUE(has(got, "\n  cpu         ok\n")) << got.text;
  EXPECT_TRUE(has(got, "\n  system.device(0) runs on the CPU backend: ")) << got.text;
  const std::string cuda = part(got, "CUDA");
  const std::string found = "no device ";
  const std::size_t reason = cuda.find(found);
  ASSERT_NE(reason, std::string::npos) << got.text;
  const std::string line = cuda.substr(reason, cuda.find('\n', reason) - reason);
  // The attempt: the plugin, the driver, or the call that the driver refused.
  EXPECT_TRUE(line.find("libtroupe-cuda.so") != std::string::npos ||
              line.find("libcuda.so.1") != std::string::npos ||
              line.find("cuInit: CUDA_ERROR") != std::string::npos ||
              line.find("the driver shows none") != std::string::npos)
      << line;
  const std::size_t once = got.text.find("libcuda.so.1: cannot open");
  EXPECT_TRUE(once == std::string::npos ||
              got.text.find("libcuda.so.1: cannot open", once + 1) == std::string::npos)
      << "a missing driver is said once: " << got.text;
}

TEST(Info, ListsEveryVendorLibraryByItsExactName) {
  const outcome got = info();
  const std::string libraries = part(got, "Vendor libraries");
  for (const char* name : {"cuBLAS ", "cuBLASLt ", "cuDNN ", "cuFFT ", "cuRAND ", "cuSOLVER ",
                           "cuSPARSE ", "cuTENSOR ", "NVRTC ", "nvJitLink ", "NCCL "}) {
    EXPECT_NE(libraries.find(std::string("\n  ") + name), std::string::npos) << name << got.text;
  }
  for (const char* file : {"libcublas.so.13", "libcudnn.so.9", "libnccl.so.2"})
    EXPECT_NE(libraries.find(file), std::string::npos) << file << got.text;
}

TEST(Info, AsksALibraryForItsVersionAndSaysWhereItIs) {
  const fs::path fake = FAKE_CUTENSOR;
  const outcome got = info("LD_LIBRARY_PATH=" + fake.parent_path().string());
  const std::string libraries = part(got, "Vendor libraries");
  EXPECT_NE(libraries.find(" 2.3.1 "), std::string::npos) << got.text;
  EXPECT_NE(libraries.find(fake.string()), std::string::npos) << got.text;
}

TEST(Info, SaysThatTheCpuBackendIsWhatTheEnvironmentAsksFor) {
  const outcome got = info("TROUPE_BACKEND=cpu");
  EXPECT_EQ(got.status, 0);
  EXPECT_TRUE(has(got, "TROUPE_BACKEND \"cpu\"")) << got.text;
  EXPECT_TRUE(has(got, "\n  system.device(0) runs on the CPU backend")) << got.text;
}

TEST(Info, SaysWhatIsWrongWithTheEnvironment) {
  const outcome wrong = info("TROUPE_BACKEND=opencl");
  EXPECT_EQ(wrong.status, 0);
  EXPECT_TRUE(has(wrong, "cannot be had: TROUPE_BACKEND is \"opencl\"; it may be cpu or cuda"))
      << wrong.text;
  const outcome impossible = info("TROUPE_BACKEND=cuda");
  EXPECT_EQ(impossible.status, 0);
  EXPECT_TRUE(has(impossible, "\n  system.device(0) cannot be had: ")) << impossible.text;
}

TEST(Info, SaysWhatAnInstallationLacksAndWhy) {
  // An installation of its own: the library, a file that is no plugin, and neither the CPU backend
  // nor a worker.
  const fs::path root =
      fs::path(testing::TempDir()) / ("troupe-info-" + std::to_string(::getpid()));
  fs::create_directories(root / "lib" / "troupe");
  fs::copy_file(TROUPE_LIBRARY, root / "lib" / TROUPE_SONAME);
  std::ofstream(root / "lib" / "troupe" / "libtroupe-cuda-blas.so") << "no library\n";
  const outcome got = info("LD_LIBRARY_PATH=" + (root / "lib").string());
  EXPECT_EQ(got.status, 0);
  EXPECT_TRUE(has(got, (root / "libexec/troupe/troupe-worker").string() + ": missing")) << got.text;
  EXPECT_TRUE(has(got, "\n  cpu         cannot be loaded: the file is not there\n")) << got.text;
  EXPECT_TRUE(has(got, "\n  cuda        cannot be loaded: the file is not there\n")) << got.text;
  EXPECT_TRUE(has(got, "\n  cuda-blas   cannot be loaded: " +
                           (root / "lib/troupe/libtroupe-cuda-blas.so").string() + ": "))
      << got.text;
  EXPECT_TRUE(has(got, "-> this Troupe was built without CUDA")) << got.text;
  fs::remove_all(root);
}

TEST(Info, SaysWhatTheMachineLetsItUseAndWhatComputesOnTheCpu) {
  const outcome got =
      run("env CUDA_VISIBLE_DEVICES= bash -c 'ulimit -n 777; exec \"$0\" \"$@\"'", "info");
  const std::string machine = part(got, "Machine");
  for (const char* name : {"processors ", "memory ", "addresses ", "descriptors 777", "mappings "})
    EXPECT_NE(machine.find(std::string("\n  ") + name), std::string::npos) << name << got.text;
  const std::string libraries = part(got, "Libraries of the CPU backend");
  for (const char* name : {"OpenBLAS    0.", ", kernels ", " thread", "FFTW        3."})
    EXPECT_NE(libraries.find(name), std::string::npos) << name << got.text;
}

TEST(Info, IsJsonForPrograms) {
  const outcome got = run("env CUDA_VISIBLE_DEVICES= TROUPE_BACKEND='a\"b\\c'", "info --json");
  EXPECT_EQ(got.status, 0);
  const fs::path file =
      fs::path(testing::TempDir()) / ("troupe-info-" + std::to_string(::getpid()) + ".json");
  std::ofstream(file) << got.text;
  const outcome read = troupe::test::run_program(
      "python3 -c 'import json, sys; all = json.load(open(sys.argv[1])); "
      "names = lambda key: [one[\"name\"] for one in all[key]]; "
      "print(all[\"version\"], \"cpu\" in names(\"plugins\"), names(\"cpu_libraries\"), "
      "all[\"installation\"][0][\"value\"], all[\"machine\"][0][\"usable\"] > 0)' " +
      file.string());
  fs::remove(file);
  EXPECT_EQ(read.status, 0) << read.text << got.text;
  EXPECT_TRUE(has(read, " True ['OpenBLAS', 'oneDNN', 'FFTW'] a\"b\\c True")) << read.text;
}

TEST(Info, EndsWhereALibraryHangsOrCrashes) {
  const fs::path root =
      fs::path(testing::TempDir()) / ("troupe-hangs-" + std::to_string(::getpid()));
  fs::create_directories(root / "lib" / "troupe");
  fs::copy_file(TROUPE_LIBRARY, root / "lib" / TROUPE_SONAME);
  fs::copy_file(HANGING_PLUGIN, root / "lib/troupe/libtroupe-cpu-hangs.so");
  fs::copy_file(CRASHING_PLUGIN, root / "lib/troupe/libtroupe-crashes.so");
  const outcome got = info("LD_LIBRARY_PATH=" + (root / "lib").string());
  EXPECT_EQ(got.status, 0);
  EXPECT_TRUE(has(got, "\n  cpu-hangs   unknown: no answer within 15 s\n")) << got.text;
  EXPECT_TRUE(has(got, "\n  crashes     unknown: the look-up ended by signal 6 (Aborted)\n"))
      << got.text;
  EXPECT_TRUE(has(got, "\n  system.device(0) runs on the CPU backend")) << got.text;
  fs::remove_all(root);
}

TEST(Info, NamesWhatVendorsLibrariesAreGivenWhateverIsInstalled) {
  const outcome got = run("env LD_LIBRARY_PATH=", "info --limits");
  EXPECT_EQ(got.status, 0);
  for (const char* line :
       {"\n  dnn.convolution_order cuDNN 9.14 and later\n", "\n  dnn.onednn_windows oneDNN 2.6 ",
        "\n    given  a convolution has as many zeros before an axis as behind it, ",
        "\n    seen   numbers beyond the lengths came into results: 9.14, H100, 2026-11-25\n",
        "\n    tried  DnnGraph.OfRandomNodes*"})
    EXPECT_TRUE(has(got, line)) << line << got.text;
  const outcome json = run("", "info --limits --json");
  EXPECT_TRUE(has(json, R"("library": "cuDNN", "from": "9.14", "to": "", "condition": ")"))
      << json.text;
}

TEST(Info, EndsHoweverFewAddressesThereAre) {
  if (troupe::test::under_sanitizers) GTEST_SKIP() << "they take more for themselves";
  for (const char* kibibytes : {"100000", "300000", "1000000"}) {
    const outcome got = run(std::string("ulimit -v ") + kibibytes + "; timeout 60", "info");
    EXPECT_EQ(got.status, 0) << kibibytes << got.text;
    EXPECT_TRUE(has(got, "\n  system.device(0) ")) << kibibytes << got.text;
  }
}

}  // namespace
