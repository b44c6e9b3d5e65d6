#!/usr/bin/env node
'use strict';

const { main } = require('../lib/main');

process.exitCode = main(process.argv.slice(2), process.env);
