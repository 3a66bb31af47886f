#include <troupe/plugin/worker_entry.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  if (const auto status = troupe::worker_entry(argc, argv)) return *status;
  std::fputs("troupe-worker is started by a program that uses Troupe, not by hand\n", stderr);
  return 2;
}
