import { createRefreshPace } from '../../api/console/browser/refresh-pace.mjs';
import { figuresOf, histogram, record } from './load.ts';
import { sendResult } from './measure.ts';

/** `cookies` contains one session cookie per console. `path` is the page that all of them show. */
export type ConsoleJob = { readonly port: number; readonly path: string; readonly cookies: readonly string[] };

/** How often a console asks which parts of the platform do not work. */
const HEALTH_MS = 2_000;
const REFRESH = /data-refresh="([^"]+)"/;
const STREAM = /data-stream="([^"]+)"/;
const CATEGORIES = /data-categories="([^"]+)"/;
const MESSAGE = /^event: (.+)\nid: (.+)$/gm;

const times = histogram();
const isOver = new AbortController();

const attribute = (html: string, pattern: RegExp): string => pattern.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';

/** Fetches the page and returns its HTML. Records the duration. @throws Error if the page is refused */
const fetchPage = async ({ port, path, cookie }: ConsoleJob & { cookie: string }, token = ''): Promise<string> => {
  const startedAt = performance.now();
  const headers = { cookie, 'accept-encoding': 'gzip', ...(token && { 'consistency-token': token }) };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, redirect: 'manual', signal: isOver.signal });
  const html = await response.text();
  if (response.status !== 200) throw new Error(`GET ${path} returned ${response.status}`);
  record(times, performance.now() - startedAt);
  return html;
};

/** Keeps a page up to date in the way in which the console's browser module `live.mjs` does, but does not draw it. */
const keepLive = async (console: ConsoleJob & { cookie: string }): Promise<void> => {
  const html = await fetchPage(console);
  const [path, stream] = [attribute(html, REFRESH), attribute(html, STREAM)];
  const categories = new Set(attribute(html, CATEGORIES).split(' '));
  const pace = createRefreshPace();
  let [token, isStale, isBusy] = ['', false, false];
  const schedule = (): void => {
    if (isBusy || isOver.signal.aborted) return;
    isBusy = true;
    setTimeout(async () => {
      isStale = false;
      pace.onRefresh();
      await fetchPage({ ...console, path }, token).catch(() => {});
      pace.onRefreshed();
      isBusy = false;
      if (isStale) schedule();
    }, pace.delay());
  };
  const checkHealth = () => fetch(`http://127.0.0.1:${console.port}/readyz`, { signal: isOver.signal }).then((answer) => answer.text());
  const timer = setInterval(() => checkHealth().catch(() => {}), HEALTH_MS);
  isOver.signal.addEventListener('abort', () => clearInterval(timer));
  const headers = { cookie: console.cookie, accept: 'text/event-stream' };
  const { body } = await fetch(`http://127.0.0.1:${console.port}${stream}`, { headers, signal: isOver.signal });
  const read = async (): Promise<void> => {
    for await (const text of body!.pipeThrough(new TextDecoderStream()))
      for (const [, category, id] of text.matchAll(MESSAGE))
        if (categories.has(category!)) {
          token = id!;
          isStale = true;
          schedule();
        }
  };
  read().catch(() => {});
};

process.once('message', async (job: ConsoleJob) => {
  await Promise.all(job.cookies.map((cookie) => keepLive({ ...job, cookie })));
  times.reset();
  const startedAt = performance.now();
  process.once('message', () => {
    const figures = figuresOf(times, (performance.now() - startedAt) / 1_000);
    isOver.abort();
    sendResult(figures);
  });
  process.send!({ isOpen: true });
});
