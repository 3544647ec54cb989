import type { Context } from 'hono';
import type { Runtime } from './mount.ts';

type NodeBindings = { readonly outgoing?: { readonly destroy: () => void } } | undefined;

/** Breaks the connection off where the bytes fail: an answer that ended well would pass for whole. */
export async function* abortOnError(c: Context, host: Runtime, bytes: AsyncIterable<Uint8Array>) {
  try {
    yield* bytes;
  } catch (error) {
    host.onBrokenResponse(c, error);
    const { outgoing } = (c.env as NodeBindings) ?? {};
    if (!outgoing) throw error;
    outgoing.destroy();
  }
}
