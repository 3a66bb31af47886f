// A libnvrtc.so.13 that does to its process what its source says: what no compiler should, and some
// do. A source that says nothing of the kind is its own image.

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
int nvrtcCreateProgram(program** made, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  *made = new program{text, {}};
  return 0;
}
int nvrtcDestroyProgram(program** made) {
  delete *made;
  return 0;
}
int nvrtcAddNameExpression(program* p, const char* name) {
  p->names.emplace_back(name);
  return 0;
}
int nvrtcCompileProgram(program* p, int, const char* const*) {
  if (p->text == "crash") *reinterpret_cast<volatile int*>(std::strtol("16", nullptr, 10)) = 1;
  if (p->text == "abort") std::abort();
  if (p->text == "exit") std::_Exit(7);
  if (p->text == "hang")
    for (;;)
      ::pause();
  if (p->text == "overflow") {
    volatile int start = 0;
    return descend(&start, 1L << 40);
  }
  // As a compiler that checks nothing, one that gives up, and one that says so.
  if (p->text.starts_with("eat ")) {
    for (;;) {
      void* const more = std::malloc(std::size_t{16} << 20);
      if (more != nullptr) {
        eaten.push_back(more);
        continue;
      }
      if (p->text == "eat and crash") std::memset(more, 1, 64);
      if (p->text == "eat and throw") throw std::bad_alloc();
      if (p->text == "eat and abort") std::abort();
      return 1;
    }
  }
  if (p->text == "refuse") return 6;
  return 0;
}
int nvrtcGetProgramLogSize(program*, std::size_t* size) {
  *size = 4;
  return 0;
}
int nvrtcGetProgramLog(program*, char* log) {
  std::memcpy(log, "log", 4);
  return 0;
}
int nvrtcGetLoweredName(program* p, const char* name, const char** lowered) {
  for (const std::string& one : p->names) {
    if (one != name) continue;
    *lowered = one.c_str();
    return 0;
  }
  return 10;
}
int nvrtcGetCUBINSize(program* p, std::size_t* size) {
  *size = p->text.size();
  return 0;
}
int nvrtcGetCUBIN(program* p, char* image) {
  p->text.copy(image, p->text.size());
  return 0;
}
int nvrtcGetPTXSize(program* p, std::size_t* size) { return nvrtcGetCUBINSize(p, size); }
int nvrtcGetPTX(program* p, char* image) { return nvrtcGetCUBIN(p, image); }
int nvrtcGetLTOIRSize(program* p, std::size_t* size) { return nvrtcGetCUBINSize(p, size); }
int nvrtcGetLTOIR(program* p, char* image) { return nvrtcGetCUBIN(p, image); }
}
// NOLINTEND(readability-identifier-naming)
