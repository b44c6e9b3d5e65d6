#include "demo/registry.h"

static const char *names[16];
static int count;

int demo_register(const char *name) {
  if (count == 16) return -1;
  names[count++] = name;
  return 0;
}

int demo_registered(void) { return count; }

const char *demo_version(void) { return DEMO_VERSION; }
