// Written by etfetch from etfetch.lock. Do not edit: `etfetch generate` writes it again.
