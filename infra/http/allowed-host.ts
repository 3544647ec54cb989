import { Refusal } from '../../domain/refusal.ts';

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

const nameOf = (host: string): string => (URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '');

/** Null if the request may be served. */
export type CheckHost = (host: string | undefined) => Refusal | null;

/**
 * Creates the check of the Host header. A service that listens on the loopback address only can still be reached by
 * pages of other sites, whose names resolve to that address (DNS rebinding). Browsers send such a name in the header.
 * So it must be a name of this machine, or that in PUBLIC_URL. If the service listens on other addresses, too, each
 * name is accepted. A client of HTTP/1.0 may send no header; browsers always do.
 */
export const createHostCheck = ({ host, publicUrl }: { readonly host: string; readonly publicUrl: string }): CheckHost => {
  if (!LOOPBACK.test(nameOf(host.includes(':') ? `[${host}]` : host))) return () => null;
  const publicName = new URL(publicUrl).hostname;
  return (requested) => {
    if (requested === undefined) return null;
    const name = nameOf(requested);
    if (LOOPBACK.test(name) || name === publicName) return null;
    return new Refusal(
      'misdirected',
      `This service is not ${name}: use its PUBLIC_URL, or set PUBLIC_URL to the URL with which you reach it`,
    );
  };
};
