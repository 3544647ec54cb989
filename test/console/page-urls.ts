import { formOf } from '../../api/console/forms/form.ts';
import { consolePages } from '../../api/console-pages.ts';
import { isRead } from '../../api/http/operation.ts';
import { pathOf, type Resources } from '../architecture/existing-resources.ts';
import type { ConsolePlatform } from '../fixtures/console-platform.ts';

export type PageUrl = { readonly name: string; readonly permit: string; readonly url: string };

/** The values of the parameters in the paths of pages, by name. */
export type PageParams = Readonly<Record<string, string>>;

/**
 * Returns the URL of each page of the console.
 * @throws Error for a page whose path has a parameter without a value: add the value to `params`
 */
export const pageUrls = (params: PageParams): readonly PageUrl[] =>
  consolePages.map(({ path, permit }) => ({
    name: path,
    permit,
    url: path.replaceAll(/:(\w+)/g, (_, name: string) => {
      const value = params[name];
      if (value === undefined) throw new Error(`the test has no value for the parameter ${name} of the page ${path}`);
      return value;
    }),
  }));

/** Returns the URL of the form of each operation that changes something, for these resources. */
export const formUrls = (p: ConsolePlatform, of: Resources): readonly PageUrl[] =>
  Object.entries(p.operations)
    .filter(([, row]) => !isRead(row) && formOf(row))
    .map(([operation, row]) => {
      const values = pathOf(p, row.path.replaceAll(/:(\w+)/g, '{$1}'), of).split('/');
      const params: [string, string][] = row.path
        .split('/')
        .flatMap((part, index) => (part.startsWith(':') ? [[part.slice(1), values[index]!]] : []));
      const permit = typeof row.permit === 'string' ? row.permit : row.permit.all.join(' ');
      return { name: operation, permit, url: `/console/run/${operation}?${new URLSearchParams(params)}` };
    });
