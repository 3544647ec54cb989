import { spawn } from 'node:child_process';

/** An opener that fails does so at once. One that still runs after this time has found a browser. */
const FAILURE_MS = 2_000;

type Machine = { readonly platform: NodeJS.Platform; readonly env: NodeJS.ProcessEnv };

/** Null if the machine has no screen. */
const openerOf = ({ platform, env }: Machine): readonly [string, ...string[]] | null => {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : null;
};

/** While the browser starts, other users of the machine can see the URL in the list of processes. Returns false if there is no browser. */
export const openBrowser = async (url: string, machine: Machine = { platform: process.platform, env: process.env }): Promise<boolean> => {
  const opener = openerOf(machine);
  if (!opener) return false;
  const [command, ...args] = opener;
  const browser = spawn(command, [...args, url], { stdio: 'ignore', detached: true, env: machine.env });
  browser.unref();
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), FAILURE_MS);
    const end = (isOpen: boolean) => () => {
      clearTimeout(timer);
      resolve(isOpen);
    };
    browser.once('error', end(false));
    browser.once('exit', (code) => end(code === 0)());
  });
};
