// A certificate that ended in 2024, signed by itself and made for these tests. The key protects nothing.

export const expired = `-----BEGIN CERTIFICATE-----
MIIBGzCBwgIBATAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9leHBpcmVkLmV4YW1w
bGUwHhcNMjAwMTAxMDAwMDAwWhcNMjQwMTAxMDAwMDAwWjAaMRgwFgYDVQQDDA9l
eHBpcmVkLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASHX+vC7vOl
5vMd0fx5QVWRZO99wDZmcggTav8B3MtxjR/y7IpzWvHUpI62QVasjwQ6hERmFG/P
jT98iTRbdovoMAoGCCqGSM49BAMCA0gAMEUCIBrKjCRj7UQuw91NkIHsybACM38H
/4MMw3G6EsT77pMhAiEAt6h/Tl6f4RQH4fccujKJhXHDryXDvJP7Is/rZ8n7E08=
-----END CERTIFICATE-----
`;

export const expiredKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgm0k5kchqeQyhb8he
7tRVVZzaJWv40SRMW8WtqyH75WKhRANCAASHX+vC7vOl5vMd0fx5QVWRZO99wDZm
cggTav8B3MtxjR/y7IpzWvHUpI62QVasjwQ6hERmFG/PjT98iTRbdovo
-----END PRIVATE KEY-----
`;
