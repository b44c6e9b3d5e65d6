#pragma once

int demo_register(const char *name);
int demo_registered(void);
const char *demo_version(void);
