#include "demo/registry.h"

__attribute__((constructor)) static void register_fast(void) { demo_register("FastBackend"); }
