'use strict';

const { spawnSync } = require('child_process');
const os = require('os');

/**
 * Runs a command in this terminal.
 * @returns {number} its exit code; 128 and the signal's number when it was killed
 */
function run(command, env) {
  const done = spawnSync(command[0], command.slice(1), { env, stdio: 'inherit' });
  if (done.error) throw done.error;
  return done.status === null ? 128 + os.constants.signals[done.signal] : done.status;
}

/**
 * What a command prints.
 * @returns {string | null} null when it fails
 */
function ask(command, env) {
  const stdio = ['ignore', 'pipe', 'ignore'];
  const done = spawnSync(command[0], command.slice(1), { env, stdio, encoding: 'utf8' });
  return done.status === 0 ? done.stdout : null;
}

module.exports = { ask, run };
