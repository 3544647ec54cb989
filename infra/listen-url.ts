import { isIP } from 'node:net';

/** The URL of an address that the HTTP service listens on. */
export const listenUrl = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/** The URL at which this machine reaches a service that listens on all addresses. */
export const loopback = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
