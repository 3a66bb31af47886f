#include "os/address_space.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace troupe::os {

std::vector<address_stretch> free_stretches(std::uintptr_t first, std::uintptr_t last) {
  std::vector<address_stretch> all;
  std::uintptr_t begin = first;
  std::ifstream mappings("/proc/self/maps");  // in the order of addresses
  for (std::string line; begin < last && std::getline(mappings, line);) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2) continue;
    if (from > begin) all.push_back({begin, std::min(from, last)});
    begin = std::max(begin, to);
  }
  if (begin < last) all.push_back({begin, last});
  return all;
}

}  // namespace troupe::os
