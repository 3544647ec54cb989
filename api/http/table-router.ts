import type { Result, Router } from 'hono/router';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import { SmartRouter } from 'hono/router/smart-router';
import { TrieRouter } from 'hono/router/trie-router';

type Route<T> = { readonly method: string; readonly path: string; readonly handler: T };

/** The path of handlers that run for every request. */
const EVERY_PATH = '/*';

const segmentsOf = (path: string): string[] => path.split('/');
const isParameter = (segment: string | undefined): boolean => segment?.startsWith(':') ?? false;

/** Returns whether `path` has a fixed segment where `other` has a parameter, and the same segments before it. */
const isBesideParameter = (path: string, other: string): boolean => {
  const [own, others] = [segmentsOf(path), segmentsOf(other)];
  const first = own.findIndex((segment, index) => segment !== others[index]);
  return first !== -1 && isParameter(others[first]) && !isParameter(own[first]);
};

const createRouter = <T>(): SmartRouter<T> => new SmartRouter({ routers: [new RegExpRouter(), new TrieRouter()] });

/**
 * Creates a router that matches a path with one regular expression per method. Hono's default router cannot do this if
 * one route has a fixed segment where another route of the same method has a parameter; it then uses a slower router
 * for all routes. This router puts such routes with a fixed segment into a second router, which is asked first: so a
 * fixed segment takes precedence.
 */
export const tableRouter = <T>(): Router<T> => {
  const routes: Route<T>[] = [];
  const fixed = { router: createRouter<T>(), methods: new Set<string>(), everyPath: 0 };
  const main = createRouter<T>();
  let isBuilt = false;

  const build = (): void => {
    isBuilt = true;
    for (const route of routes) {
      const { method, path, handler } = route;
      const isForAll = path === EVERY_PATH;
      const isFixed = !isForAll && routes.some((other) => other.method === method && isBesideParameter(path, other.path));
      if (isForAll) fixed.everyPath++;
      if (isFixed) fixed.methods.add(method);
      if (isForAll || isFixed) fixed.router.add(method, path, handler);
      if (isForAll || !isFixed) main.add(method, path, handler);
    }
  };

  return {
    get name() {
      return main.name;
    },
    add: (method, path, handler) => {
      routes.push({ method, path, handler });
    },
    match: (method, path): Result<T> => {
      if (!isBuilt) build();
      if (!fixed.methods.has(method)) return main.match(method, path);
      const found = fixed.router.match(method, path);
      return found[0].length > fixed.everyPath ? found : main.match(method, path);
    },
  };
};
