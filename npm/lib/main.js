'use strict';

// The way from an npm package to the etfetch that is written in Python: an etfetch on PATH, else
// uvx, else pipx, else a virtual environment in etfetch's cache. Each is asked for the version of
// this package, so that a library and its users run the same tool.

const { ask, run } = require('./processes');
const { onPath } = require('./path');
const environment = require('./environment');
const { version } = require('../package.json');

const FROM_NPM = 'ETFETCH_FROM_NPM';
const OFFLINE = 6;
const NETWORK = 5;
const CONFIGURATION = 2;

/**
 * Runs etfetch with the words of a command line.
 * @returns {number} its exit code, or 2 or 6 when there is no etfetch and none can be had.
 */
function main(words, env) {
  const requirement = env.ETFETCH_REQUIREMENT || `etfetch==${version}`;
  const quiet = isYes(env.ETFETCH_SKIP_DOWNLOAD) || isYes(env.ETFETCH_OFFLINE);
  const seen = [];
  try {
    const command =
      installed(env, seen) ||
      (quiet ? keptByUv(requirement, env) : throughUv(requirement, env)) ||
      (quiet ? null : throughPipx(requirement, env)) ||
      environment.command(requirement, env, { mayFetch: !quiet, seen, say });
    return command ? run([...command, ...words], { ...env, [FROM_NPM]: '1' }) : failed(env, seen);
  } catch (error) {
    say(`error: etfetch could not be set up: ${error.message}`);
    say(`hint: \`ETFETCH_REQUIREMENT\` names another source than your package index; then ${again(env)}`);
    return NETWORK;
  }
}

/** An etfetch on PATH that is not this package under another name, and not older than it. */
function installed(env, seen) {
  if (env[FROM_NPM]) return null; // This is what the etfetch on PATH turned out to be.
  for (const file of onPath('etfetch', env)) {
    const found = ask([file, '--version'], { ...env, [FROM_NPM]: '1' });
    const number = found && /^etfetch (\d+(?:\.\d+)*)/.exec(found);
    if (number && !isOlder(number[1], version)) return [file];
    if (number) seen.push(`${file} is ${number[1]}, older than ${version}`);
  }
  return null;
}

function throughUv(requirement, env) {
  const [uvx] = onPath('uvx', env);
  return uvx ? [uvx, '--quiet', '--from', requirement, 'etfetch'] : null;
}

/** uv's own copy, if it has kept one: it is not to ask the network now. */
function keptByUv(requirement, env) {
  const [uvx] = onPath('uvx', env);
  const command = uvx && [uvx, '--quiet', '--offline', '--from', requirement, 'etfetch'];
  return command && ask([...command, '--version'], env) ? command : null;
}

function throughPipx(requirement, env) {
  const [pipx] = onPath('pipx', env);
  return pipx ? [pipx, 'run', '--spec', requirement, 'etfetch'] : null;
}

function failed(env, seen) {
  if (isYes(env.ETFETCH_SKIP_DOWNLOAD)) {
    say('warning: nothing was installed: etfetch is not on this machine, and was not downloaded');
    seen.forEach((line) => say(`  ${line}`));
    return 0;
  }
  if (isYes(env.ETFETCH_OFFLINE)) {
    say(`error: etfetch ${version} is not on this machine, and the network may not be used`);
    seen.forEach((line) => say(`  ${line}`));
    say(`hint: ${again(env)} once with the network, or install it with \`pip install etfetch\``);
    return OFFLINE;
  }
  say('error: etfetch needs Python 3.10 or newer, or uv, and found neither');
  seen.forEach((line) => say(`  ${line}`));
  say(`hint: install Python from your system's packages, or uv, then ${again(env)}`);
  return CONFIGURATION;
}

/** The command that runs a skipped or failed postinstall step again. */
function again(env) {
  const name = env.npm_package_name || '';
  const agent = (env.npm_config_user_agent || '').split('/')[0];
  if (agent === 'yarn') return 'run `yarn install` again';
  if (agent === 'pnpm') return `run \`pnpm rebuild ${name}\``;
  return name ? `run \`npm rebuild ${name}\`` : 'run the command again';
}

function isYes(text) {
  return !['', '0', 'false', 'no'].includes((text || '').toLowerCase());
}

function isOlder(one, other) {
  const [left, right] = [one, other].map((text) => text.split('.').map(Number));
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    if ((left[i] || 0) !== (right[i] || 0)) return (left[i] || 0) < (right[i] || 0);
  }
  return false;
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

module.exports = { main };
