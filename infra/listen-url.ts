import { isIP } from 'node:net';

/** An IPv6 host is put in brackets. */
export const listenUrl = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/** 0.0.0.0 and [::] mean "all addresses"; a client on this machine can connect to the loopback address. */
export const loopback = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

/** The code is after `#`, so that no server, proxy or log receives it. */
export const signInUrl = (publicUrl: string, code: string): string => `${publicUrl.replace(/\/$/, '')}/console/in#${code}`;
