import { isIP } from 'node:net';

/** Returns the URL for a host and port on which the HTTP service listens. An IPv6 host is put in brackets. */
export const listenUrl = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/**
 * Replaces a host that means "all addresses" (0.0.0.0 or [::]) by the loopback address. A client on this machine can
 * connect to that address.
 */
export const loopback = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

/**
 * Returns the link that signs in a browser with this code. The code is after `#`, so that no server, proxy or log
 * receives it.
 */
export const signInUrl = (publicUrl: string, code: string): string => `${publicUrl.replace(/\/$/, '')}/console/in#${code}`;
