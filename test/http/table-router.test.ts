import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf, plainPaths } from '../../api/areas.ts';
import { tableRouter } from '../../api/http/table-router.ts';

/** Creates a router with these routes, each written as `METHOD /path`. The handler of a route is simply this text. */
const routerOf = (...routes: readonly string[]) => {
  const router = tableRouter<string>();
  router.add('ALL', '/*', 'every');
  for (const route of routes) router.add(...(route.split(' ') as [string, string]), route);
  return router;
};

const handlersAt = (router: ReturnType<typeof routerOf>, method: string, path: string): string[] =>
  router.match(method, path)[0].map(([handler]) => handler);

test('the table router prefers a route with a fixed path segment to one with a parameter, whatever the order of the routes; handlers for all paths run before both', () => {
  for (const routes of [
    ['GET /jobs/:id', 'GET /jobs/preview'],
    ['GET /jobs/preview', 'GET /jobs/:id'],
  ]) {
    const router = routerOf(...routes);
    assert.equal(handlersAt(router, 'GET', '/jobs/preview'), ['every', 'GET /jobs/preview']);
    assert.equal(handlersAt(router, 'GET', '/jobs/7'), ['every', 'GET /jobs/:id']);
  }
});

test('if a fixed segment matches but the rest of that route does not, the table router uses the route that has a parameter in this place', () => {
  const router = routerOf('POST /jobs/preview', 'POST /jobs/:id/pause');
  assert.equal(handlersAt(router, 'POST', '/jobs/preview/pause'), ['every', 'POST /jobs/:id/pause']);
  assert.equal(handlersAt(router, 'POST', '/jobs/preview'), ['every', 'POST /jobs/preview']);
  assert.equal(handlersAt(router, 'POST', '/jobs/7'), ['every']);
  assert.equal(handlersAt(router, 'GET', '/jobs/preview'), ['every']);
});

test('all routes of the service can be compiled to regular expressions, and the path of each route matches that route', () => {
  const operations = Object.values(operationsOf({} as never)).map(({ method, path }) => `${method} ${path}`);
  const plain = Object.entries(plainPaths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
  );
  const routes = [...plain, ...operations];
  const router = routerOf(...routes);
  for (const route of routes) {
    const [method, path] = route.split(' ') as [string, string];
    assert.equal(handlersAt(router, method, path.replace(/:\w+/g, 'x')), ['every', route]);
  }
  assert.is(router.name, 'SmartRouter + RegExpRouter');
});

test.run();
