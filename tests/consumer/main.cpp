#include <troupe/core/error.hpp>
#include <troupe/core/result.hpp>

#include <iostream>

int main() {
  const troupe::result<int> answer = 42;
  std::cout << "consumer: " << *answer << ", " << troupe::to_string(troupe::errc::timed_out)
            << '\n';
  return answer ? 0 : 1;
}
