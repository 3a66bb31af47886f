// A libnvrtc.so.13 that treats its process as its source says: as no compiler should, and some do.
// Any other source is its own image.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace {

struct program {
  std::string text;
  std::vector<std::string> names;
};

/// The object behind a handle of the library.
program& at(void* handle) { return *static_cast<program*>(handle); }

std::vector<void*> eaten;

[[gnu::noinline]] int descend(const volatile int* above, long levels) {
  volatile int frame[256] = {*above};
  return levels == 0 ? 0 : descend(frame, levels - 1) + frame[1];
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the vendor's names.
extern "C" {

const char* nvrtcGetErrorString(int status) {
  return status == 0 ? "NVRTC_SUCCESS" : status == 1 ? "NVRTC_ERROR_OUT_OF_MEMORY" : "NVRTC_ERROR";
}
int nvrtcCreateProgram(void** made, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  *made = new program{text, {}};
  return 0;
}
int nvrtcDestroyProgram(void** made) {
  delete &at(*made);
  return 0;
}
int nvrtcAddNameExpression(void* p, const char* name) {
  at(p).names.emplace_back(name);
  return 0;
}
int nvrtcCompileProgram(void* p, int, const char* const*) {
  if (at(p).text == "crash") *reinterpret_cast<volatile int*>(std::strtol("16", nullptr, 10)) = 1;
  if (at(p).text == "abort") std::abort();
  if (at(p).text == "exit") std::_Exit(7);
  if (at(p).text == "hang")
    for (;;)
      ::pause();
  if (at(p).text == "overflow") {
    volatile int start = 0;
    return descend(&start, 1L << 40);
  }
  // As a compiler that checks nothing, one that gives up, and one that says so.
  if (at(p).text.starts_with("eat ")) {
    for (;;) {
      void* const more = std::malloc(std::size_t{16} << 20);
      if (more != nullptr) {
        eaten.push_back(more);
        continue;
      }
      if (at(p).text == "eat and crash") std::memset(more, 1, 64);
      if (at(p).text == "eat and throw") throw std::bad_alloc();
      if (at(p).text == "eat and abort") std::abort();
      return 1;
    }
  }
  if (at(p).text == "refuse") return 6;
  return 0;
}
int nvrtcGetProgramLogSize(void*, std::size_t* size) {
  *size = 4;
  return 0;
}
int nvrtcGetProgramLog(void*, char* log) {
  std::memcpy(log, "log", 4);
  return 0;
}
int nvrtcGetLoweredName(void* p, const char* name, const char** lowered) {
  for (const std::string& one : at(p).names) {
    if (one != name) continue;
    *lowered = one.c_str();
    return 0;
  }
  return 10;
}
int nvrtcGetCUBINSize(void* p, std::size_t* size) {
  *size = at(p).text.size();
  return 0;
}
int nvrtcGetCUBIN(void* p, char* image) {
  at(p).text.copy(image, at(p).text.size());
  return 0;
}
int nvrtcGetPTXSize(void* p, std::size_t* size) { return nvrtcGetCUBINSize(p, size); }
int nvrtcGetPTX(void* p, char* image) { return nvrtcGetCUBIN(p, image); }
int nvrtcGetLTOIRSize(void* p, std::size_t* size) { return nvrtcGetCUBINSize(p, size); }
int nvrtcGetLTOIR(void* p, char* image) { return nvrtcGetCUBIN(p, image); }
}
// NOLINTEND(readability-identifier-naming)
