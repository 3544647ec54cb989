import type { Context } from 'hono';
import type { Runtime } from './runtime.ts';

type NodeBindings = { readonly outgoing?: { readonly destroy: () => void } } | undefined;

/**
 * Yields `bytes`. If reading them fails, closes the connection: otherwise the response would end normally, and the
 * client would believe that it is complete.
 */
export async function* abortOnError(c: Context, runtime: Runtime, bytes: AsyncIterable<Uint8Array>) {
  try {
    yield* bytes;
  } catch (error) {
    runtime.onBrokenResponse(c, error);
    const { outgoing } = (c.env as NodeBindings) ?? {};
    if (!outgoing) throw error;
    outgoing.destroy();
  }
}
