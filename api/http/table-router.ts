import type { Result, Router } from 'hono/router';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import { SmartRouter } from 'hono/router/smart-router';
import { TrieRouter } from 'hono/router/trie-router';

type Route<T> = { readonly method: string; readonly path: string; readonly handler: T };

/** The path of handlers that run for every request. */
const EVERY_PATH = '/*';

const isParameter = (segment: string): boolean => segment.startsWith(':');

const placesOf = (path: string): { readonly before: string; readonly segment: string }[] =>
  path.split('/').map((segment, index, all) => ({ before: all.slice(0, index).join('/'), segment }));

/** Returns the places at which the routes of a method have a parameter, each as the part of the path before it. */
const parameterPlaces = (routes: readonly Pick<Route<unknown>, 'path'>[]): ReadonlySet<string> =>
  new Set(
    routes.flatMap(({ path }) =>
      placesOf(path)
        .filter(({ segment }) => isParameter(segment))
        .map(({ before }) => before),
    ),
  );

/** Returns whether a path has a fixed segment where another route has a parameter. */
const isBesideParameter = (path: string, places: ReadonlySet<string>): boolean =>
  placesOf(path).some(({ before, segment }) => !isParameter(segment) && places.has(before));

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
    const places = new Map(
      Object.entries(Object.groupBy(routes, ({ method }) => method)).map(([method, all]) => [method, parameterPlaces(all!)]),
    );
    for (const { method, path, handler } of routes) {
      const isForAll = path === EVERY_PATH;
      const isFixed = !isForAll && isBesideParameter(path, places.get(method)!);
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
