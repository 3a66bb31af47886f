// A vendor's library, of which the machine has another major version than was built for.
extern "C" __attribute__((visibility("default"))) int fake_vendor_works() { return 1; }
