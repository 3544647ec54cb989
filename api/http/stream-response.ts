import type { Context } from 'hono';
import type { Host } from './mount.ts';

type FromNode = { readonly outgoing?: { readonly destroy: () => void } } | undefined;

/** Breaks the connection off where the bytes fail: an answer that ended well would pass for whole. */
export async function* unbroken(c: Context, host: Host, bytes: AsyncIterable<Uint8Array>) {
  try {
    yield* bytes;
  } catch (error) {
    host.broken(c, error);
    const { outgoing } = (c.env as FromNode) ?? {};
    if (!outgoing) throw error;
    outgoing.destroy();
  }
}
