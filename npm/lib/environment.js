'use strict';

// A virtual environment with etfetch in etfetch's cache, made once for a version of etfetch and a
// version of Python. It is made aside and takes its name when it is whole, so several at once do no
// harm. Its scripts know the folder it was made in; what is run is `python -m etfetch`, which does not.

const crypto = require('crypto');
const fs = require('fs');
const os = require('os');
const path = require('path');

const { ask, run } = require('./processes');
const { onPath } = require('./path');

const OLDEST = [3, 10];
const PROBE = 'import sys; print("%d.%d" % sys.version_info[:2])';
const HAS_VENV = 'import ensurepip, venv';

/**
 * The command of the etfetch in an environment, made now if it may be fetched.
 * @returns {string[] | null} null when there is no Python, or nothing may be fetched
 */
function command(requirement, env, { mayFetch, seen, say }) {
  const python = findPython(env, seen);
  if (!python) return null;
  const digest = crypto.createHash('sha256').update(requirement).digest('hex').slice(0, 12);
  const folder = path.join(cacheFolder(env), 'tool', `${digest}-py${python.version}`);
  const made = [program(folder), '-m', 'etfetch'];
  if (fs.existsSync(made[0]) && ask([...made, '--version'], env)) return made;
  if (!mayFetch) {
    seen.push(`${folder} holds no etfetch`);
    return null;
  }
  say(`setting up ${requirement} for Python ${python.version} in ${folder} (once)`);
  make(python.file, requirement, folder, env);
  return made;
}

/** Makes the environment; an Error when pip cannot. */
function make(python, requirement, folder, env) {
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  const aside = fs.mkdtempSync(path.join(path.dirname(folder), '.making-'));
  try {
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input'];
    if (run([python, '-m', 'venv', aside], env) !== 0) throw new Error(`\`${python} -m venv\` failed`);
    if (run([program(aside), ...pip, requirement], env) !== 0) {
      throw new Error(`pip did not install \`${requirement}\``);
    }
    place(aside, folder, env);
  } finally {
    fs.rmSync(aside, { recursive: true, force: true });
  }
}

function place(aside, folder, env) {
  try {
    fs.renameSync(aside, folder);
  } catch {
    // Somebody was faster, which is as good, or what stands there is of no use.
    if (ask([program(folder), '-m', 'etfetch', '--version'], env)) return;
    fs.rmSync(folder, { recursive: true, force: true });
    fs.renameSync(aside, folder);
  }
}

/** The first Python that is new enough and has venv; why others are not is added to `seen`. */
function findPython(env, seen) {
  const named = env.ETFETCH_PYTHON ? [env.ETFETCH_PYTHON] : [];
  const files = [...named, ...['python3', 'python', 'py'].flatMap((name) => onPath(name, env))];
  for (const file of new Set(files)) {
    const version = (ask([file, '-c', PROBE], env) || '').trim();
    const [major, minor] = version.split('.').map(Number);
    if (!version) {
      // Windows has a `python3.exe` that only opens its store.
      seen.push(`${file} does not run`);
    } else if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
      seen.push(`${file} is Python ${version}`);
    } else if (ask([file, '-c', HAS_VENV], env) === null) {
      seen.push(`${file} has no \`venv\` (on Debian and Ubuntu: \`apt install python3-venv\`)`);
    } else {
      return { file, version };
    }
  }
  if (!files.length) seen.push('there is no `etfetch`, `uvx`, `pipx` or `python3` on PATH');
  return null;
}

/** The folder that etfetch's own cache has without a flag. */
function cacheFolder(env) {
  if (env.ETFETCH_CACHE_DIR) return path.resolve(env.ETFETCH_CACHE_DIR);
  const home = os.homedir();
  if (process.platform === 'darwin') return path.join(home, 'Library', 'Caches', 'etfetch');
  if (process.platform === 'win32') {
    return path.join(env.LOCALAPPDATA || path.join(home, 'AppData', 'Local'), 'etfetch', 'Cache');
  }
  return path.join(env.XDG_CACHE_HOME || path.join(home, '.cache'), 'etfetch');
}

function program(folder) {
  return process.platform === 'win32'
    ? path.join(folder, 'Scripts', 'python.exe')
    : path.join(folder, 'bin', 'python');
}

module.exports = { command };
