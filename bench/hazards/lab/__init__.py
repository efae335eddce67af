"""The lab's own servers: private ones, started to be broken, and always left whole or gone."""
