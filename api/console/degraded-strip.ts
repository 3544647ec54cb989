import type { Hono } from 'hono';
import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import { platformPath, type Visit } from './visit.ts';

const { a, div, span } = tags;

/** Returns the parts of the platform that do not work at the moment, as /readyz names them. */
export const readDegraded = async (app: Pick<Hono, 'request'>): Promise<readonly string[]> => {
  const { degraded = [] } = (await (await app.request('/readyz')).json()) as { readonly degraded?: readonly string[] };
  return degraded;
};

/**
 * Renders the bar on every page while a part of the platform does not work. Null if all parts work. Operators get a link
 * to the page that says what to do.
 */
export const degradedStrip = ({ degraded, may }: Pick<Visit, 'degraded' | 'may'>): Child =>
  degraded.length === 0
    ? null
    : div(
        { class: 'note degraded', role: 'status', 'data-degraded': degraded.join(' ') },
        icon('triangle-alert'),
        span(null, `Not working at the moment: ${degraded.join(', ')}. This page can be out of date.`),
        may('platform') ? a({ class: 'button small', href: platformPath() }, 'What to do') : null,
      );
